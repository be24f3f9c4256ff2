// Sphinx's search, for prose: excerpts without code, "leave one out" finds "leave-one-out", and
// "licence" finds "license".
{
  const CODE = ".cell_input, .stream, .text_plain, .math, .headerlink, script, style, summary";

  // The text of a page from a place on; of a word of the glossary what it means.
  Search.htmlToText = (html, anchor) => {
    const article = new DOMParser().parseFromString(html, "text/html").querySelector("article");
    article.querySelectorAll(CODE).forEach((element) => element.remove());
    let shown = anchor && article.querySelector(`#${CSS.escape(anchor.slice(1))}`);
    while (shown?.tagName === "DT") shown = shown.nextElementSibling;
    return (shown || article).textContent;
  };

  for (const [entry, places] of Object.entries(Search._index.indexentries)) {
    Search._index.indexentries[entry.replaceAll("-", " ")] ??= places;
  }

  // British words, and the book's for them
  const SPELLINGS = [
    [/licence/gi, "license"], [/catalogue/gi, "catalog"], [/(col|fav|neighb)our/gi, "$1or"],
    [/(label|model)l(?=ed|ing)/gi, "$1"], [/(general|normal|random)is/gi, "$1iz"],
  ];
  const find = Search.query;
  Search.query = (words) => find(SPELLINGS.reduce((text, pair) => text.replace(...pair), words));

  // Where Sphinx speaks of categories, which the book does not have.
  const say = Documentation.gettext;
  Documentation.gettext = (text) => (text.startsWith("Your search did not match")
    ? "No page has all of these words. Check the spelling, or try fewer words." : say(text));
}
