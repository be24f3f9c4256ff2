// What each page does for itself. Loaded in the head, before anything is drawn.
{
  const page = document.documentElement;

  // The theme asks the system only after the page is drawn.
  if (page.dataset.theme === "auto") {
    page.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  }

  // The sidebar begins at this page, not where it was left at another.
  sessionStorage.removeItem("sidebar-scroll-top");

  // Nothing moves under a reader's eyes: the text shows once its font is there, its explorers are
  // drawn and the formulas on the screen are set, but not later than 2.5 seconds after the click.
  page.classList.add("arranging");
  const show = () => page.classList.remove("arranging");
  setTimeout(show, 2500 - performance.now());
  const read = new Promise((resolve) => addEventListener("DOMContentLoaded", resolve));
  const fonts = read.then(() => Promise.allSettled(["1em", "italic 1em", "600 1em"].map(
    (face) => document.fonts.load(`${face} "Source Sans Pro"`))));
  const near = (element) => {
    const {top, bottom} = element.getBoundingClientRect();
    return bottom > -innerHeight && top < 2 * innerHeight;
  };
  // Where its file is missing, nothing waits for MathJax.
  addEventListener("error", ({target}) => /mathjax/.test(target.src) && fonts.then(show), true);
  if (window.MathJax) {
    MathJax.startup = {
      pageReady: async () => {
        await fonts;
        await MathJax.typesetPromise([...document.querySelectorAll(".math")].filter(near));
        show();
        await MathJax.startup.defaultPageReady(); // sets all the others
        reach();
      },
    };
  } else {
    fonts.then(show);
  }

  // A toggle is named by what it shows.
  read.then(() => {
    for (const button of document.querySelectorAll(".toggle-button")) {
      const title = button.closest(".admonition-title").textContent.trim();
      button.setAttribute("aria-label", `Show the ${title[0].toLowerCase()}${title.slice(1)}`);
    }
  });

  // What scrolls can be scrolled by keyboard.
  const reach = () => {
    const boxes = ".bd-article :is(pre, .output, mjx-container, .pst-scrollable-table-container)";
    for (const box of document.querySelectorAll(boxes)) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    }
  };
  addEventListener("load", reach);
  addEventListener("resize", reach);

  // Paper is white: print the light theme, whatever the screen shows.
  let onScreen;
  addEventListener("beforeprint", () => {
    show();
    onScreen = page.dataset.theme;
    page.dataset.theme = "light";
  });
  addEventListener("afterprint", () => {
    page.dataset.theme = onScreen;
  });
}
