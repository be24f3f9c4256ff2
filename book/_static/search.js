// Sphinx's search, for prose: excerpts without code, and "leave one out" finds "leave-one-out".
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
}
