/* Paper is white: print the light theme, whatever the screen shows. */
{
  const page = document.documentElement.dataset;
  let onScreen;
  addEventListener("beforeprint", () => {
    onScreen = page.theme;
    page.theme = "light";
  });
  addEventListener("afterprint", () => {
    page.theme = onScreen;
  });
}
