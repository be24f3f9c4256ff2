// The search: Pagefind's dialog takes the place of the theme's. It is loaded when somebody first asks
// for it. (_ext/search_index.py writes what it searches.)
(() => {
"use strict";
const root = new URL("..", document.currentScript.src);
const ranking = { metaWeights: { title: 0, term: 60, heading: 5, aside: 2 } }; // the title is shown
let dialog;

function add(tag, properties) {
  return document.body.appendChild(Object.assign(document.createElement(tag), properties));
}

const quoted = (text) => Object.assign(document.createElement("p"), { textContent: text }).innerHTML;
const show = ({ meta, excerpt }) => `
  <li class="pf-result"><div class="pf-result-card"><div class="pf-result-content">
    <p class="pf-result-title"><a class="pf-result-link" href="${root}${meta.url}">${quoted(meta.title)}</a></p>
    <p class="pf-result-excerpt"><b>${quoted(meta.chapter)}</b> · ${excerpt}</p>
  </div></div></li>`;

// What is typed just as the glossary or the reference writes a name leads there, whatever else has
// this word.
function putNamesFirst(index) {
  const search = index.search.bind(index);
  index.search = async (words, options) => {
    const name = words.trim();
    const [all, named] = await Promise.all(
      [search(words, options), search(words, { filters: { name } })]);
    const isOther = ({ id }) => named.results.every((result) => result.id !== id);
    return { ...all, results: [...named.results, ...all.results.filter(isOther)] };
  };
}

async function make() {
  const bundlePath = `${root}pagefind/`, files = `${bundlePath}pagefind-component-ui`;
  await Promise.all([
    add("link", { rel: "stylesheet", href: `${files}.css` }),
    add("script", { src: `${files}.js` }),
  ].map((element) => new Promise((onload, onerror) => Object.assign(element, { onload, onerror }))));
  PagefindComponents.configureInstance("default", { bundlePath, ranking });
  const instance = PagefindComponents.getInstanceManager().getInstance("default");
  await instance.triggerLoad();
  putNamesFirst(instance.__pagefind__);
  const made = add("pagefind-modal");
  made.querySelector("pagefind-results").resultTemplate = show;
  return made;
}

async function open(event) {
  event.preventDefault();
  event.stopImmediatePropagation(); // or the theme would open its own
  if (root.protocol === "file:") {
    alert("The search works only where the book is served. Run \"python -m http.server\" in the "
      + "folder that holds its index.html, and open http://localhost:8000.");
    return;
  }
  dialog ??= make();
  (await dialog).open();
}

addEventListener("click", (event) => {
  if (event.target.closest?.(".search-button__button")) open(event);
}, true);
addEventListener("keydown", (event) => {
  const { ctrlKey, metaKey, shiftKey, altKey, key } = event;
  if (ctrlKey !== metaKey && !shiftKey && !altKey && key.toLowerCase() === "k") open(event);
}, true);
})();
