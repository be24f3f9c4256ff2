/* Presents the sections of the page of slides, one at a time. */
document.addEventListener("DOMContentLoaded", () => {
  const button = document.getElementById("present");
  if (!button) return;
  const slides = [...document.querySelectorAll("article > section > section")];
  const status = document.getElementById("slide-status");
  const presenting = () => document.body.classList.contains("presenting");
  let shown = 0;

  function show(index) {
    shown = Math.min(Math.max(index, 0), slides.length - 1);
    slides.forEach((slide, i) => slide.classList.toggle("shown", i === shown));
    const title = slides[shown].querySelector("h2").firstChild.textContent;
    status.textContent = `Slide ${shown + 1} of ${slides.length}: ${title}`;
    window.scrollTo(0, 0);
  }

  function present(on) {
    document.body.classList.toggle("presenting", on);
    button.textContent = on ? "End" : "Present";
    if (on) {
      button.blur();
      return show(shown);
    }
    status.textContent = "";
    slides[shown].scrollIntoView();
    if (document.fullscreenElement) document.exitFullscreen();
    button.focus();
  }

  // up and down scroll within a slide that is longer than the screen
  const steps = { ArrowRight: 1, PageDown: 1, " ": 1, ArrowLeft: -1, PageUp: -1 };
  document.addEventListener("keydown", (event) => {
    if (!presenting() || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === " " && event.target.closest("a, button")) return;
    if (event.key in steps) show(shown + steps[event.key]);
    else if (event.key === "Home") show(0);
    else if (event.key === "End") show(slides.length - 1);
    else if (event.key === "f") document.documentElement.requestFullscreen();
    else if (event.key === "Escape") present(false);
    else return;
    event.preventDefault();
  });
  // on a touch screen: a tap on the right half goes on, on the left half back
  document.querySelector("article").addEventListener("click", (event) => {
    if (!presenting() || event.target.closest("a, button")) return;
    show(shown + (event.clientX > window.innerWidth / 2 ? 1 : -1));
  });
  button.addEventListener("click", () => present(!presenting()));
  button.hidden = false;
});
