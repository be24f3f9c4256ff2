/* The explorers: native controls, and from their values a verdict, a sentence, drawings and tables.
   This file holds what they share: numbers in words, controls, and the list to which the file
   explorers/NAME.js adds the explorer NAME. */
globalThis.explorers = (() => {
"use strict";
const M = globalThis.sampledMetrics, { tabulate, unique } = M, kinds = {};
const add = (name, kind) => { kinds[name] = kind; };

const fixed = (value, digits = 3) =>
  (value + Math.sign(value) * 1e-12).toFixed(digits).replace(/^-(0\.0+)$/, "$1");
const { format: whole } = new Intl.NumberFormat("en");
const count = (n, what) => `${whole(n)} ${what}${n === 1 ? "" : "s"}`;
const spaced = (low, high, count, round = Math.round) =>
  unique(tabulate(count, (i) => round(low * (high / low) ** (i / (count - 1)))));
const upTo = (n, ...more) => unique([1, 10, 100, 1e3, 1e4, 1e5, n, ...more]).filter((r) => r <= n);

// The same function, but where nothing it is given has changed, its last result.
const keepLast = (f) => {
  let last, found;
  return (...given) => {
    if (!last || given.some((one, i) => one !== last[i])) [last, found] = [given, f(...given)];
    return found;
  };
};

// --- controls

const slider = (name, label, stops, value) => `<input type="range" min="0" max="${
  stops.length - 1}" value="${stops.indexOf(value)}" data-moves="${name}" data-stops="${stops}"
  aria-label="${label}, slider">`;
// Fields without a label in sight, for sentences. A phone shows the keys that each of them needs.
const numberIn = (name, label, value, min, max) => `<input type="number" name="${name}"
  inputmode="${max > 1 ? "numeric" : "decimal"}" value="${value}" min="${min}" max="${max}"
  step="${max > 1 ? 1 : "any"}" aria-label="${label}">`;
// Options are texts, or a value, its text, and whether it is chosen.
const option = (one) => (!Array.isArray(one) ? `<option>${one}`
  : `<option value="${one[0]}"${one[2] ? " selected" : ""}>${one[1]}`);
const textIn = (name, label, value, mode) => `<input type="text" name="${name}" value="${value}"
  inputmode="${mode}" aria-label="${label}">`;
const selectIn = (name, label, options) => `<select name="${name}" aria-label="${label}">${
  options.map(option).join("")}</select>`;
const words = (sentence) => `<div class="wide words">${sentence}</div>`;
// Fields that a small screen shows only when asked.
const folded = (what, fields) =>
  `<details class="wide"><summary>${what}</summary><div class="fields">${fields}</div></details>`;

// A number; where there is a `count`, also a slider with so many stops on a logarithmic scale.
const number = (name, label, value, min, max, count) => {
  const round = max > 1 ? Math.round : (v) => +v.toPrecision(3);
  const stops = count ? unique([...spaced(min, max, count, round), value]) : [];
  return `<div${count ? ' class="slid"' : ""}><label>${label} ${
    numberIn(name, label, value, min, max)}</label>${count ? slider(name, label, stops, value) : ""}</div>`;
};
// One of some numbers, and one of some options.
const stepsIn = (name, label, stops, value) =>
  selectIn(name, label, stops.map((stop) => [stop, whole(stop), stop === value]));
const steps = (name, label, stops, value) => `<div class="slid"><label>${label} ${
  stepsIn(name, label, stops, value)}</label>${slider(name, label, stops, value)}</div>`;
const select = (name, label, options) =>
  `<div><label>${label} ${selectIn(name, label, options)}</label></div>`;
const checkIn = (name, label, checked) => `<label><input type="checkbox" name="${name}"${
  checked ? " checked" : ""}> ${label}</label>`;
const check = (...given) => `<div class="check">${checkIn(...given)}</div>`;
// Buttons above the drawing: they add to a number, or move a slider from its first stop on, until
// there is nothing more to see.
const adds = (name, ...buttons) => `<div class="actions">${buttons.map(([by, label]) =>
  `<button type="button" data-adds="${name}" value="${by}">${label}</button>`).join("")}</div>`;
const plays = (name, label) => `<div class="actions"><button type="button"
  data-plays="${name}">${label}</button></div>`;

const METRICS = { AP: M.averagePrecision, NDCG: M.ndcg, Recall: M.recall, AUC: M.auc };
const metricAndCutoff = select("metric", "metric", Object.keys(METRICS))
  + number("k", "k of recall", 10, 1, 1000);
const idleCutoff = ({ metric }) => (metric === "Recall" ? [] : ["k"]);
const chosen = ({ metric, k }) =>
  (metric === "Recall" ? [M.recall(k), `Recall@${k}`] : [METRICS[metric](), metric]);
const sampling = (m, n, most = 1e4) => (n ? number("n", "n, items", n, 2, most, 120) : "")
  + number("m", "m, sampled items", m, 1, n ? most / 50 : 9999, 120);
const twice = check("replacement", "with replacement", true);
const drawn = ({ n, m, replacement }) =>
  `n = ${whole(n)}, m = ${whole(m)}, ${replacement ? "with" : "without"} replacement`;

// Show a message at a control; what was shown before stays, dimmed.
const refuse = (field, message) => { throw Object.assign(Error(message), { field }); };
const checkDraw = ({ n, m, replacement }) => replacement || m < n
  || refuse("m", `Without replacement, m must be at most n − 1 = ${whole(n - 1)}.`);

// --- printed numbers

const PUBLISHED = {
  "HR@k": ["Recall", M.recall], "NDCG@k": ["NDCG", M.ndcg],
  "MRR@k": ["ReciprocalRank", M.reciprocalRank],
  NDCG: ["NDCG", M.ndcg], MRR: ["ReciprocalRank", M.reciprocalRank], AUC: ["AUC", M.auc],
};
const isCut = (metric) => metric.endsWith("k");
const published = ({ metric, k }) => PUBLISHED[metric][1](isCut(metric) ? k : undefined);
const nameOf = ({ metric, k }) => metric.replace("k", whole(k));
const publishedCode = ({ metric, k }) => `${PUBLISHED[metric][0]}(${isCut(metric) ? k : ""})`;

// What a printed value can mean: the exact metric with a cutoff c, or a message at its field. Another
// value, or number of users, is the same protocol.
const meansOf = keepLast((metric, k, n, m, replacement) =>
  M.explain(published({ metric, k }), n, m, replacement));
const explain = (form, field, value, users, decimals, c = form.k) => {
  const { metric, k, n, m, replacement } = form, cutoff = isCut(metric) ? Math.min(c, n) : n;
  const found = meansOf(metric, k, n, m, replacement)(
    value, users, published({ metric, k: c }), cutoff, { decimals });
  return found ?? refuse(field, `With m = ${whole(m)}, sampled ${nameOf(form)} is from ${
    span(M.endsOf(M.sampledValues(published(form), m)))}.`);
};
const checkTop = ({ metric, k, m }) => metric !== "HR@k" || k <= m
  || refuse("k", `Among ${whole(m + 1)} items each is in the top ${whole(k)}: at most ${whole(m)}.`);
const resembles = ({ k, n, m }) => `The top ${whole(Math.min(k, m + 1))} of ${whole(m + 1)} `
  + `resembles the top ${whole(Math.round(M.resembledCutoff(k, n, m)))} of all`;
const span = (ends, digits) => ends.map((v) => fixed(v, digits)).join(" to ");
const canBe = (ends, digits) => {
  const [low, high] = ends.map((v) => fixed(v, digits));
  return low === high ? `is ${low}` : `can be anything from ${low} to ${high}`;
};

// As papers print it: .66, 66 or 66%.
const shareIn = (text) => {
  const [, digits, percent] =
    text.trim().match(/^((?:\d*\.?\d+|\d+\.)(?:e[+-]?\d+)?)\s*(%?)$/i) ?? [];
  return percent || digits > 1 ? +(digits / 100).toPrecision(12) : +digits;
};
const shareOf = (text, field) => {
  const value = shareIn(text), meant = text.trim().replace(",", ".");
  return value <= 1 ? value : refuse(field, shareIn(meant) <= 1
    ? `Write ${meant}, not "${text.trim()}".` : "A number from 0 to 1, or a percentage, please.");
};

// 0.66, 66 and 66% have two decimals, and 0.660 and 66.0% three.
const decimalsOf = (text) => {
  const [, digits, power = 0] = text.match(/(?:\.(\d*))?(?:e(.+?))?\s*%?\s*$/i);
  const percent = text.includes("%") || +text > 1;
  return Math.max((digits ?? "").length - power + 2 * percent, 0);
};

// --- chance

// Numbers between 0 and 1, the same at each visit, by the generator of Park and Miller (1988) with
// their multiplier of 1993. Its state says where it is, and begins anywhere below 2 ** 31 - 1.
const generator = (state) => ({
  state,
  next() { return (this.state = (48271 * this.state) % 2147483647) / 2147483647; },
});

// --- the same in Python

const CLASSES = { AP: "AveragePrecision()", NDCG: "NDCG()", AUC: "AUC()" };
const metricCode = ({ metric, k }) => CLASSES[metric] ?? `Recall(${k})`;
const drawCode = ({ n, m, replacement }) =>
  `Draw(${m}${n ? `, n_items=${n}` : ""}${replacement ? "" : ", replacement=False"})`;
const ranksCode = (who, ranks) => `ranks = np.array([
${who.map((name, i) => `    [${ranks[i].join(", ")}],  # ${name}`).join("\n")}
])`;

// Lines of Python below what they import: the package's names are those that are called there.
const code = (lines) => {
  const called = lines.replace(/"[^"]*"/g, "")
    .match(/\b(?:[A-Z]\w*|compare|evaluate|explain)(?=[.(])/g);
  return `${lines.includes("np.") ? "import numpy as np\n" : ""}${
    lines.includes("pd.") ? "import pandas as pd\n" : ""}from sampled_metrics import ${
    [...new Set(called)].sort().join(", ")}

${lines}
`;
};

// --- drawings

const toRank = (max, label) => ({ min: 1, max, log: true, label });
// Of rows (x, lowest, highest), both lines and what is between them.
const between = (rows) => ({
  area: [...rows.map(([x, low]) => [x, low]), ...rows.map(([x, , high]) => [x, high]).reverse()],
  lines: ["lowest", "highest"].map((name, i) =>
    ({ style: i, name, points: rows.map((row) => [row[0], row[i + 1]]) })),
});

return {
  PUBLISHED, add, adds, between, canBe, check, checkDraw, checkIn, checkTop, chosen, code, count, decimalsOf,
  drawCode, drawn, explain, fixed, folded, generator, idleCutoff, isCut, keepLast, kinds,
  metricAndCutoff, metricCode, nameOf, number, numberIn, plays, published, publishedCode, ranksCode,
  refuse, resembles, sampling, select, selectIn, shareOf, spaced, span, steps, stepsIn, textIn, toRank,
  twice, unique, upTo, whole, words,
};
})();
