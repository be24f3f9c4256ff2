/* Gives each slide of the file to reveal.js, and tells it what it does not know of Markdown:
   formulas between dollar signs, which MathJax sets, and pictures with a hidden description. */
window.MathJax = { tex: { inlineMath: [["$", "$"]] }, options: { enableMenu: false } };

const source = document.querySelector("plaintext");
const [, ...slides] = source.textContent.split(/^(?=## )/m);
source.replaceWith(...slides.map((text) => {
  const slide = document.createElement("section");
  slide.id = text.slice(3).split("\n", 1)[0].toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-");
  slide.textContent = text.replace(/^:::$/gm, ""); // where its notes end
  Object.assign(slide.dataset, { markdown: "", separatorNotes: "^::: notes$" });
  return slide;
}));

const quoted = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
const inline = (name, start, pattern, html) => ({
  name,
  level: "inline",
  start: (text) => text.indexOf(start),
  tokenizer: (text) => {
    const found = pattern.exec(text);
    return found && { type: name, raw: found[0], found };
  },
  renderer: ({ found }) => html(...found.map(quoted)),
});
RevealMarkdown().marked.use({ extensions: [
  inline("formula", "$", /^(\$+)[^$]+\1/, (formula) => formula),
  inline("picture", "![](", /^!\[\]\((\S+)\)\{alt="([^"]*)"\}/,
    (_, file, alt) => `<img alt="${alt}" src="${file}">`),
] });
