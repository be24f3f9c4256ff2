/* Shows the Markdown of the page as slides: a section for each "## ".

   It knows what the slides use: headings, lists, tables, pictures, code, formulas between dollar
   signs, *emphasis*, **strong** words, [links](address) and ::: notes. */
const escaped = (text) =>
  text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");

const PICTURE = /!\[([^\]]*)\]\(([^)\s]+)\)(?:\{alt=&quot;(.*?)&quot;\})?/g;

function inline(text) {
  const kept = []; // code, formulas and pictures, in which no sign is Markdown
  const keep = (html) => `\u0000${kept.push(html) - 1}\u0000`;
  return escaped(text)
    .replace(PICTURE, (_, words, file, alt) => keep(`<img alt="${alt ?? words}" src="${file}">`))
    .replace(/`([^`]+)`/g, (_, code) => keep(`<code>${code}</code>`))
    .replace(/\$[^$]+\$/g, keep)
    .replace(/\[([^\]]*)\]\(([^)\s]+)\)/g, '<a href="$2">$1</a>')
    .replace(/\*\*(.+?)\*\*/g, "<strong>$1</strong>")
    .replace(/\*(.+?)\*/g, "<em>$1</em>")
    .replace(/\u0000(\d+)\u0000/g, (_, number) => kept[number]);
}

const inside = (text) => text.replace(/^.*\n/, "").replace(/\n.*$/, ""); // without its fences
const items = (text, mark) => text.split(mark).slice(1).map((item) => `<li>${inline(item)}</li>`).join("");

function table(text) {
  const row = (line, tag) => `<tr>${line.replace(/^\||\|$/g, "").split(/(?<!\\)\|/)
    .map((cell) => `<${tag}>${inline(cell.replace(/\\\|/g, "|").trim())}</${tag}>`).join("")}</tr>`;
  const [head, , ...lines] = text.trim().split("\n");
  return `<table><thead>${row(head, "th")}</thead>
    <tbody>${lines.map((line) => row(line, "td")).join("")}</tbody></table>`;
}

// How a block begins, and what it becomes.
const KINDS = [
  [/^<!--/, () => ""],
  [/^## /, (text) => `</section><section><h2>${inline(text.slice(3))}</h2>`],
  [/^```/, (text) => `<pre><code>${escaped(inside(text))}</code></pre>`],
  [/^\$\$/, (text) => `<div class="math">${escaped(text)}</div>`],
  [/^:::/, (text) => `<aside class="speaker">${blocks(inside(text))}</aside>`],
  [/^- /, (text) => `<ul>${items(text, /^- /m)}</ul>`],
  [/^\d+\. /, (text) => `<ol>${items(text, /^\d+\. /m)}</ol>`],
  [/^\|/, table],
  [/^!\[.*[)}]$/, (text) => `<figure>${inline(text)}</figure>`],
  [/^/, (text) => `<p>${inline(text)}</p>`],
];
const BLOCK = /^(?:<!--[^]*?-->|```[^]*?\n```|\$\$[^]*?\$\$|:::[^]*?\n:::|## .*|(?:.+\n?)+)/gm;

function blocks(text) {
  return text.match(BLOCK).map((block) => block.trim())
    .map((block) => KINDS.find(([begins]) => begins.test(block))[1](block)).join("\n");
}

const source = document.querySelector("plaintext").textContent.replace(/\r/g, "");
document.title = /^## (.*)/m.exec(source)[1];
document.documentElement.lang = "en";
document.body.innerHTML = `<article><section>
  <p class="slide-controls"><button type="button" id="present" hidden>Present</button>
  <button type="button" id="notes" hidden>Notes</button> <span id="slide-status" role="status"></span></p>
  ${blocks(source).replace("</section>", "")}</section></section></article>`;
window.MathJax = { tex: { inlineMath: [["$", "$"]] }, options: { enableMenu: false } };
