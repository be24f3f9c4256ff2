// What a published sampled metric can mean.
(() => {
"use strict";
const M = sampledMetrics, E = explorers, { decimalsOf, fixed, isCut, shareOf, whole } = E;

// Another value or number of users is the same protocol.
const meansOf = E.keepLast((metric, k, n, m, replacement) => {
  const [, make] = E.PUBLISHED[metric];
  return M.explain(isCut(metric) ? make(k) : make(), n, m, replacement);
});

const show = (form) => {
  E.checkDraw(form);
  const { metric, k, n, m, users } = form, [, make] = E.PUBLISHED[metric], value = shareOf(form.value, "value");
  if (m >= n) E.refuse("m", `At most n − 1 = ${whole(n - 1)}: who draws more can rank all.`);
  const cut = isCut(metric), named = (c) => metric.replace("k", whole(c)), name = named(k);
  const means = meansOf(metric, k, n, m, form.replacement);
  const decimals = decimalsOf(form.value), half = 0.5 * 10 ** -decimals;
  const at = M.remember((c) => means(value, users, cut ? make(c) : make(), c, { decimals }));
  if (metric === "HR@k" && k > m) {
    const top = `Among ${whole(m + 1)} items each is in the top ${whole(k)}`;
    E.refuse("k", `${top}: at most ${whole(m)}.`);
  }
  const own = cut ? Math.min(k, n) : n, all = at(own);
  if (!all) {
    const seen = M.sampledValues(cut ? make(k) : make(), m);
    const [least, largest] = [Math.min(...seen), Math.max(...seen)].map((v) => fixed(v));
    E.refuse("value", `With m = ${whole(m)}, sampled ${name} is from ${least} to ${largest}.`);
  }
  const alike = Math.round(M.resembledCutoff(k, n, m));
  const canBe = (ends) => {
    const [low, high] = ends.map((v) => fixed(v));
    return low === high ? `is ${low}` : `can be anything from ${low} to ${high}`;
  };
  const outline = all.outline(), x = outline.map(([u]) => u);
  const rows = (cut ? E.upTo(n, own, alike) : [n]).map((c) => [c, at(c)]);
  const [low, high] = all.boundsWithError;
  const [verdict, tone] = high - low > 0.3 ? ["Says little", "bad"]
    : high - low > 0.05 ? ["Says something", "open"] : ["Says much", "good"];
  return {
    verdict, tone,
    sentence: `A sampled ${name} of ${value} (${E.drawn(form)}${
      decimals < 4 ? `; rounded by up to ${half}` : ""}). ${cut ? `The top ${
      whole(Math.min(k, m + 1))} of ${whole(m + 1)} resembles the top ${whole(alike)} of all ${
      whole(n)}. ` : ""}Chance aside, exact ${name} ${canBe(all.bounds)}. With ${
      E.count(users, "user")} the standard error is ${metric === "HR@k" ? "" : "at most "}${
      fixed(all.standardError, 4)}: with 95 percent confidence, exact ${name} ${
      canBe(all.boundsWithError)}.`,
    plots: [{
      at: value, atField: "value",
      x: { min: x[0], max: x.at(-1), label: `sampled ${name} (drag the dotted line)` },
      y: { min: 0, max: 1.02, label: `exact ${name}` },
      area: [...outline.map(([u, low]) => [u, low]),
        ...outline.map(([u, , high]) => [u, high]).reverse()],
      lines: ["lowest", "highest"].map((name, i) =>
        ({ style: i, name, points: outline.map((row) => [row[0], row[i + 1]]) })),
    }],
    tables: [[["exact metric", "lowest", "highest", "lowest, 95 %", "highest, 95 %"],
      ...rows.map(([c, { bounds, boundsWithError }]) =>
        [named(c), ...[...bounds, ...boundsWithError].map((v) => fixed(v))])]],
  };
};

E.add("reviewer", {
  controls: E.words(`A paper prints ${E.textIn("value", "value in the paper", 0.66, "decimal")} as ${
    E.selectIn("metric", "metric", Object.keys(E.PUBLISHED))} with k = ${
    E.numberIn("k", "its cutoff k", 10, 1, 1000)}, the mean over ${
    E.numberIn("users", "users", 6040, 1, 1e9)} users. Each right item, one of n = ${
    E.numberIn("n", "n, items", 3706, 2, 1e6)}, was ranked among m = ${
    E.numberIn("m", "m, sampled items", 100, 1, 2e4)} others, drawn at random ${
    E.checkIn("replacement", "with replacement", true)}.`),
  tables: ["What this number leaves open: without chance, and with it"],
  presets: [
    ["99 negatives, k = 10 (He et al. 2017)",
      { metric: "HR@k", k: 10, n: 3706, m: 99, users: 6040 }],
    ["100 negatives, Beauty (Kang and McAuley 2018)",
      { metric: "HR@k", value: 0.4854, k: 10, n: 57289, m: 100, users: 10000 }],
    ["999 negatives, target .635 (MLPerf 2018)",
      { metric: "HR@k", value: 0.635, k: 10, n: 26744, m: 999, users: 138493 }],
  ],
  python: (form) => {
    const [name] = E.PUBLISHED[form.metric], { n, m, users, replacement } = form;
    const cutoff = isCut(form.metric) ? form.k : "", decimals = decimalsOf(form.value);
    return `from sampled_metrics import ${[name, "Draw"].sort().join(", ")}, explain

draw = Draw(${m}, n_items=${n}, replacement=${replacement ? "True" : "False"})
print(explain(
    ${name}(${cutoff}), ${shareOf(form.value, "value")}, draw, n_users=${users},${
  decimals === 4 ? "" : ` decimals=${decimals},`}
))
`;
  },
  idle: ({ metric }) => (isCut(metric) ? [] : ["k"]),
  show,
});
})();
