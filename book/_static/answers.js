// Which entries of an answer are right: the rules of sampled_metrics_book.Answer, in the browser.
(() => {
"use strict";
const GROUPS = /(?<=[0-9])[ ,_](?=[0-9]{3}(?![0-9]))/g;
const DIGITS = "[+-]?(?:(?:0|[1-9][0-9]*)(?:\\.[0-9]*)?|\\.[0-9]+)(?:e[+-]?[0-9]+)?";
const NUMBER = RegExp(`^(${DIGITS})(?: ?/ ?(${DIGITS}))? ?(%?)$`);
const ADVICE = "Write a number as in 0.5, 1/2, 50 % or 1,234.";

// The number or the text that an entry is; null if it is not filled in.
function read(entry, percent) {
  const text = entry.replace(/[\s()]+/g, " ").trim().toLowerCase().replaceAll("−", "-")
    .replaceAll("∞", "inf");
  const [, above, below = "1", unit] = NUMBER.exec(text.replace(GROUPS, "")) ?? [];
  if (above === undefined || Number(below) === 0) return text || null;
  return above / below / (unit && !percent ? 100 : 1);
}

function isRight(accepted, entry) {
  if (entry === null) return null;
  if (typeof accepted === "boolean") return [String(accepted), Number(accepted)].includes(entry);
  if (typeof accepted === "string") return entry === accepted;
  return typeof entry === "number" && accepted[0] <= entry && entry <= accepted[1];
}

// The right number, if the entry is a share instead of a percentage or vice versa; else undefined.
function meant(accepted, entry, percent) {
  const most = percent ? 1 : 100, number = percent ? entry * 100 : entry / 100;
  const off = Array.isArray(accepted) && typeof entry === "number" && !isRight(accepted, entry);
  if (off && most / 1e4 <= Math.abs(entry) && Math.abs(entry) <= most && isRight(accepted, number)) {
    return number;
  }
}

const judge = ({ accepted, percent }, entries) =>
  entries.map((entry, place) => isRight(accepted[place], read(entry, percent)));

function told(answer, entries) {
  const { accepted, labels, percent } = answer, right = judge(answer, entries);
  if (right.every((entry) => entry === null)) return "No answer yet.";
  if (right.every(Boolean)) return "Right.";
  const said = ["Not yet."];
  for (const [kind, which] of [["Right", true], ["Wrong", false], ["Still open", null]]) {
    const names = labels.filter((_, place) => right[place] === which);
    if (names.length && labels.length > 1) said.push(`${kind}: ${names.join("; ")}.`);
  }
  for (const [place, entry] of entries.entries()) {
    const number = meant(accepted[place], read(entry, percent), percent);
    if (number !== undefined) said.push(`Did you mean ${+number.toPrecision(10)}?`);
  }
  const isText = (entry, place) =>
    Array.isArray(accepted[place]) && typeof read(entry, percent) === "string";
  return [...said, ...(entries.some(isText) ? [ADVICE] : [])].join(" ");
}

globalThis.answers = { judge, told };
})();
