/* Presents the sections of the page of slides, one at a time and step by step. */
document.addEventListener("DOMContentLoaded", () => {
  const [button, notesButton] = ["present", "notes"].map((id) => document.getElementById(id));
  if (!button) return;
  const slides = [...document.querySelectorAll("article > section > section")];
  const status = document.getElementById("slide-status");
  const presenting = () => document.body.classList.contains("presenting");
  let shown = 0, step = 0, notes;

  // What a slide shows one after the other: its blocks, and the items of its lists.
  const parts = (slide) => [...slide.children].filter((part) => !part.matches("h2, .speaker"))
    .flatMap((part) => (part.matches("ul, ol") ? [...part.children] : [part]));
  const titleOf = (slide) => slide?.querySelector("h2").firstChild.textContent ?? "the end";

  // Make letters and pictures smaller until all of the slide is on the screen.
  function fit(slide) {
    const room = window.innerHeight - slide.getBoundingClientRect().top - 8;
    const wide = () => [slide, ...slide.querySelectorAll(".output, pre, div.math, table, img")]
      .some((part) => part.scrollWidth > part.clientWidth + 1 && part.clientWidth
        || part.getBoundingClientRect().right > window.innerWidth + 1);
    for (let size = 1; size > 0.3; size *= 0.95) {
      slide.style.setProperty("--fit", size);
      if (slide.scrollHeight <= room && !wide()) return;
    }
  }

  function show(index, at = 0) {
    shown = Math.min(Math.max(index, 0), slides.length - 1);
    const slide = slides[shown], all = parts(slide);
    step = Math.min(Math.max(at, 0), all.length - 1);
    slides.forEach((other, i) => other.classList.toggle("shown", i === shown));
    all.forEach((part, i) => part.classList.toggle("later", i > step));
    status.textContent = `Slide ${shown + 1} of ${slides.length}: ${titleOf(slide)}`;
    window.scrollTo(0, 0);
    fit(slide);
    tell();
  }
  function turn(by) {
    const next = step + by;
    if (next >= 0 && next < parts(slides[shown]).length) show(shown, next);
    else if (by > 0 && shown < slides.length - 1) show(shown + 1);
    else if (by < 0 && shown > 0) show(shown - 1, Infinity);
  }

  // The speaker's notes, in a window of their own.
  function tell() {
    if (!notes || notes.closed) return;
    const text = slides[shown].querySelector(".speaker");
    notes.document.title = "Notes";
    notes.document.body.innerHTML = `<h1>${shown + 1}. ${titleOf(slides[shown])}</h1>
      ${text ? [...text.querySelectorAll("p:not(.admonition-title)")].map((p) => p.outerHTML).join("") : ""}
      <p><em>Next: ${titleOf(slides[shown + 1])}</em></p>`;
    notes.document.body.style.cssText = "font: 1.4rem/1.5 sans-serif; margin: 2rem";
  }
  function openNotes() {
    notes = window.open("", "speakers-notes", "width=640,height=520");
    if (notes) notes.onkeydown = press; // the keys turn the slides from there, too
    tell();
  }

  function present(on) {
    document.body.classList.toggle("presenting", on);
    button.textContent = on ? "End" : "Present";
    if (on) {
      button.blur();
      return show(shown);
    }
    status.textContent = "";
    slides.forEach((slide) => {
      slide.style.removeProperty("--fit");
      parts(slide).forEach((part) => part.classList.remove("later"));
    });
    slides[shown].scrollIntoView();
    if (document.fullscreenElement) document.exitFullscreen();
    button.focus();
  }

  const keys = {
    arrowright: () => turn(1), pagedown: () => turn(1), " ": () => turn(1),
    arrowleft: () => turn(-1), pageup: () => turn(-1),
    home: () => show(0), end: () => show(slides.length - 1, Infinity),
    f: () => document.documentElement.requestFullscreen(), n: openNotes,
    escape: () => present(false),
  };
  function press(event) {
    const key = event.key.toLowerCase(); // with Caps Lock, too
    if (!presenting() || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, dialog")) return; // the site's search
    if (key === " " && event.target.closest("a, button")) return;
    if (!(key in keys)) return;
    keys[key]();
    event.preventDefault();
  }
  document.addEventListener("keydown", press);
  // a tap or a click on the right half goes on, on the left half back
  document.addEventListener("click", (event) => {
    const controls = "a, button, input, label, summary, dialog, .search-button__wrapper";
    if (!presenting() || event.target.closest(controls)) return;
    const by = event.clientX > window.innerWidth / 2 ? 1 : -1;
    // a mouse may be marking a word, which the first of two clicks does not know yet
    const go = () => presenting() && getSelection().isCollapsed && turn(by);
    setTimeout(go, event.pointerType === "touch" ? 0 : 300);
  });
  window.addEventListener("resize", () => presenting() && fit(slides[shown]));
  button.addEventListener("click", () => present(!presenting()));
  notesButton.addEventListener("click", openNotes);
  button.hidden = notesButton.hidden = false;
});
