// What a published sampled metric can mean.
(() => {
"use strict";
const M = sampledMetrics, E = explorers, { fixed, whole } = E;

const PUBLISHED = { "HR@k": M.recall, "NDCG@k": M.ndcg, "MRR@k": M.reciprocalRank, NDCG: M.ndcg,
  MRR: M.reciprocalRank, AUC: M.auc };

const show = (form) => {
  E.checkDraw(form);
  const { value, metric, k, n, m, users } = form, make = PUBLISHED[metric];
  const cut = metric.endsWith("k"), named = (c) => metric.replace("k", whole(c)), name = named(k);
  const means = M.explain(cut ? make(k) : make(), n, m, form.replacement);
  const at = (c) => (cut ? means(value, users, make(c), c) : means(value, users));
  if (!at(n)) E.refuse("value", `No ranks have such a sampled ${name}.`);
  const own = Math.min(k, n), alike = Math.round(M.resembledCutoff(k, n, m)), all = at(own);
  const canBe = (ends) => {
    const [low, high] = ends.map((v) => fixed(v));
    return low === high ? `is ${low}` : `can be anything from ${low} to ${high}`;
  };
  const outline = all.outline(), x = outline.map(([u]) => u);
  const rows = (cut ? E.upTo(n, own, alike) : [0]).map((c) => [c, at(c)]);
  return {
    sentence: `A sampled ${name} of ${value} (${E.drawn(form)}). ${cut ? `The top ${
      whole(Math.min(k, m + 1))} of ${whole(m + 1)} resembles the top ${whole(alike)} of all ${
      whole(n)}. ` : ""}Chance aside, exact ${name} ${canBe(all.bounds)}. With ${
      whole(users)} users the standard error is ${metric === "HR@k" ? "" : "at most "}${
      fixed(all.standardError, 4)}: with 95 percent confidence, exact ${name} ${
      canBe(all.boundsWithError)}.`,
    plots: [{
      at: value,
      x: { min: x[0], max: x.at(-1), label: `sampled ${name} (dotted: yours)` },
      y: { min: 0, max: 1.02 },
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
  controls: E.number("value", "value in the paper", 0.66, 0, 1)
    + E.select("metric", "metric", Object.keys(PUBLISHED))
    + E.number("k", "its cutoff k", 10, 1, 1000) + E.sampling(100, 3706, 1e6) + E.twice
    + E.number("users", "users", 6040, 1, 1e9),
  tables: ["What exact metrics can be: chance aside, and with chance"],
  idle: ({ metric }) => (metric.endsWith("k") ? [] : ["k"]),
  show,
});
})();
