// What can a published number mean? The audit's collection, one number at a time.
(() => {
"use strict";
const M = sampledMetrics, E = explorers, { fixed, whole } = E;

const KINDS = { Recall: [M.recall, "Recall"], NDCG: [M.ndcg, "NDCG"],
  RR: [M.reciprocalRank, "ReciprocalRank"] };
const USUAL = "bert4rec-20m-recall-uni";
const decimals = ({ value }) => value.split(".")[1].length;
const cutoff = ({ k }) => (k ? +k : Infinity);
const named = ({ metric }, c) => (c < Infinity ? `${metric}@${whole(c)}` : metric);
const isPopular = ({ sampling }) => sampling === "popularity";
const system = (row) => `${row.system} on ${row.data}`;

// Numbers of one protocol share what is known of it.
const protocols = {};
const meansOf = ({ metric, k, n_items: n, n_samples: m, replacement }) =>
  (protocols[[metric, k, n, m, replacement]] ??=
    M.explain(KINDS[metric][0](cutoff({ k })), +n, +m, replacement !== "false"));

// Of a published number, the bounds of the exact metric at any cutoff, and a drawing of them.
const audit = (row) => {
  const [make] = KINDS[row.metric], n = +row.n_items, m = +row.n_samples, k = cutoff(row);
  const users = row.n_users ? +row.n_users : Infinity; // without a number, nothing about chance
  const seen = (c, finer) =>
    meansOf(row)(+row.value, users, make(c), Math.min(c, n), { decimals: decimals(row), finer });
  const at = M.remember((c) => seen(c, true)); // so that moving the cutoff computes one of them
  const cutoffs = E.unique([...E.spaced(1, n, 40), ...(k < n ? [k, k + 1] : [])]);
  return { at, n, m, k, alike: k < Infinity && Math.round(M.resembledCutoff(k, n, m)),
    band: cutoffs.map((c) => [c, ...seen(c, false).bounds]) };
};
Object.assign(M, { audit });

// All rows side by side: by field, the largest number first, each with the bounds of its own exact
// metric. Worked out once, and only for a drawing.
const overview = E.keepLast((all) => {
  const of = (field) => all.filter((row) => row.field === field);
  const fields = [...new Set(all.map(({ field }) => field))].sort();
  const isLarge = (field) => of(field).length > 9; // for its name to have room
  const rows = [...fields.filter(isLarge), ...fields.filter((field) => !isLarge(field))]
    .flatMap((field) => of(field).sort((a, b) => b.value - a.value));
  const ends = rows.map((row) => !isPopular(row)
    && meansOf(row)(+row.value, Infinity, KINDS[row.metric][0](cutoff(row)),
      Math.min(cutoff(row), +row.n_items), { decimals: decimals(row), finer: false }).bounds);
  const ticks = fields.filter(isLarge).map((name) =>
    [rows.findIndex(({ field }) => field === name) + of(name).length / 2, name]);
  return { rows, ends, ticks };
});
const pictureOf = (chosen, all) => {
  const { rows, ends, ticks } = overview(all), at = rows.indexOf(chosen);
  const dots = (X, Y, name, style) => `<path class="points s${style}" d="${rows.map((row, i) =>
    (row[name] ? `M${X(i)} ${Y(+row[name])}h0` : "")).join("")}"/>`;
  return {
    text: `${rows.length} printed numbers, ${rows.filter((row) => row.exact_value).length} of them `
      + `with the exact number. The chosen one is ${system(chosen)}: ${chosen.value} was printed${
        chosen.exact_value ? `, and exactly ${chosen.exact_value}` : ""}.`,
    height: 260, small: 210, at, atField: "id", anywhere: true,
    key: ["sampled, printed", "exact, printed"],
    x: { min: -1, max: rows.length, label: "printed numbers (touch one)", bare: true, ticks,
      values: rows.map(({ id }, i) => [i, id]) },
    y: { min: 0, max: 1 },
    under: (X, Y) => `<path class="ends" d="${ends.map((both, i) =>
      (both ? `M${X(i)} ${Y(both[0]) + 1}V${Y(both[1]) - 1}` : "")).join("")}"/>${
      dots(X, Y, "value", 0)}${dots(X, Y, "exact_value", 1)}`,
    marks: [{ style: 0, x: at, y: +chosen.value }, ...(chosen.exact_value
      ? [{ style: 1, x: at, y: +chosen.exact_value }] : [])],
    stops: rows.map((row, x) => ({ x, y: +row.value, shift: 0, read: () => ({
      head: `${system(row)}, ${named(row, cutoff(row))}`,
      dots: [{ style: 0, x, y: +row.value, text: `${row.value} among ${
        whole(+row.n_samples + 1)}${row.exact_value ? `, ${row.exact_value} exactly` : ""}` }],
    }) })),
  };
};

const verdictOf = (from, to) => (from === to ? ["One value", "good"]
  : from > 0 ? [to < 1 ? "Two bounds" : "Lower bound", "open"]
    : to < 1 ? ["Upper bound", "open"] : ["Says nothing", "bad"]);

// What there is to say of a published number, in sentences.
const sentences = (row, { n, m, k, alike }, name, bounds) => {
  const said = [`${system(row)}: ${named(row, k)} of ${row.value} among ${whole(m)} of ${
    whole(n)} items.`];
  if (isPopular(row)) {
    said.push("Its candidates were drawn by popularity, so nothing bounds the exact value.");
  } else {
    const uneven = row.exact_on === "uneven"
      ? ", if each query had that many items, which is not so here" : "";
    said.push(`Chance aside, exact ${name} ${E.canBe(bounds)}${uneven}.`);
    if (alike) said.push(`${E.resembles({ k, n, m })}.`);
  }
  if (row.exact_value) {
    said.push(`${row.exact_on === "newer" ? "On newer data, an" : "The"} exact ${
      named(row, k)} was printed, too: ${row.exact_value}.`);
  }
  return said.join(" ");
};

const auditOf = E.keepLast(audit); // another cutoff is the same row
const show = ({ id, c: wanted }, all) => {
  const row = all.find((one) => one.id === id), popular = isPopular(row), known = auditOf(row);
  const { at, n, k, alike, band } = known, c = Math.min(wanted, n);
  const [low, high] = at(c).bounds;
  const cutoffs = E.upTo(n, c, ...(k < n ? [k] : []), ...(alike ? [alike] : []));
  const [verdict, tone] = popular ? ["No bound", "bad"] : verdictOf(+fixed(low), +fixed(high));
  return {
    verdict, tone,
    sentence: sentences(row, known, named(row, c), [low, high]),
    plots: [pictureOf(row, all), {
      at: c, atField: "c",
      x: { min: 1, max: n, log: true, name: "c", label: "cutoff c (drag the dotted line)" },
      y: { min: 0, max: 1, label: `exact ${row.metric}@c` },
      ...(popular ? {} : E.between(band)),
      marks: [...(popular ? [] : [low, high].map((y, style) => ({ style, x: c, y, field: "c" }))),
        ...(row.exact_value ? [{ style: 2, x: Math.min(k, n), y: +row.exact_value,
          name: "exact, in print" }] : [])],
    }],
    tables: [[["exact metric", "lowest", "highest", "lowest, 95 %", "highest, 95 %"],
      ...(popular ? [] : cutoffs).map((x) => [named(row, x),
        ...at(x).bounds.map((v) => fixed(v)),
        ...at(x).boundsWithError.map((v) => (row.n_users ? fixed(v) : "–"))])]],
  };
};

const python = ({ id, c }, all) => {
  const row = all.find((one) => one.id === id), [, name] = KINDS[row.metric];
  const { n_items: n, n_samples: m, replacement } = row;
  return E.code(`draw = ${E.drawCode({ n, m, replacement: replacement !== "false" })}
print(explain(
    ${name}(${row.k}), ${row.value}, draw,${row.n_users ? ` n_users=${row.n_users},` : ""}
    decimals=${decimals(row)}, exact_metric=${name}(${Math.min(c, n)}),
))`);
};

const option = (row) => `<option value="${row.id}"${row.id === USUAL ? " selected" : ""}>${
  named(row, cutoff(row))} ${row.value}, ${system(row)}${
  isPopular(row) ? ", popular draws" : ""}`;
const options = (all) => [...new Set(all.map(({ field }) => field))].map((field) =>
  `<optgroup label="${field}">${
    all.filter((row) => row.field === field).map(option).join("")}</optgroup>`).join("");

E.add("audit", {
  controls: (all) => `<div class="wide"><label>published number <select name="id">${
    options(all)}</select></label></div>`
    + E.number("c", "cutoff c to ask about", 10, 1, 1e8, 161),
  panels: 2,
  tables: ["What exact metrics can be: without chance, and with it"],
  python,
  show,
});
})();
