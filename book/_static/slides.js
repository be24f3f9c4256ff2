/* Presents the sections of the page by reveal.js, where the address is that of a slide: #/NAME. */
(() => {
"use strict";
const isSlide = () => location.hash.startsWith("#/");

// Fields and sliders keep their keys, and buttons the space bar. Escape leaves a field.
const isForReveal = ({ key, target }) => {
  const field = target.closest("input, select, textarea, [role=slider]");
  if (key === "Escape") field?.blur();
  return !field && !(key === " " && target.closest("a, button, summary"));
};

// A slide shows its blocks, and the items of its lists, one after the other.
const STEPS = ":scope > :not(h2, ul, ol, aside), :scope > :is(ul, ol) > li";
const step = (deck) => {
  for (const slide of deck.getSlides()) {
    const [, ...later] = slide.querySelectorAll(STEPS);
    later.forEach((part) => part.classList.add("fragment"));
  }
};

function present() {
  const article = document.querySelector("article"), slides = document.createElement("div");
  slides.className = "slides";
  slides.append(...article.querySelectorAll("section > section"));
  for (const part of slides.querySelectorAll(".explorer, pre, table")) part.dataset.preventSwipe = "";
  article.replaceChildren(slides, ...article.querySelectorAll(".leave"));
  article.classList.add("reveal");
  document.body.append(article);
  document.body.classList.add("reveal-viewport");
  document.documentElement.classList.add("reveal-full-page");
  Reveal.initialize({
    hash: true, slideNumber: "c/t", transition: "none", display: "flex", center: false,
    width: "100%", height: "100%", margin: 0, scrollActivationWidth: null, // slides scroll themselves
    embedded: true, // leaves the fingers their scrolling
    fragments: innerWidth > 600, // on a phone a finger that scrolls would show them
    pdfSeparateFragments: false, pdfMaxPagesPerSlide: 1, keyboardCondition: isForReveal,
    plugins: [globalThis.RevealMarkdown, RevealNotes, { id: "steps", init: step }].filter(Boolean),
  });
}

addEventListener("hashchange", () => {
  if (isSlide() !== !!document.querySelector(".reveal")) isSlide() ? present() : location.reload();
});
if (isSlide()) present();
})();
