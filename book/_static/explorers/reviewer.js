// What a published sampled metric can mean.
(() => {
"use strict";
const M = sampledMetrics, E = explorers, { decimalsOf, fixed, isCut, whole } = E;

const show = (form) => {
  E.checkDraw(form);
  const { metric, k, n, m, users } = form, value = E.shareOf(form.value, "value");
  if (m >= n) E.refuse("m", `At most n − 1 = ${whole(n - 1)}: who draws more can rank all.`);
  E.checkTop(form);
  const cut = isCut(metric), name = E.nameOf(form), decimals = decimalsOf(form.value);
  const at = M.remember((c) => E.explain(form, "value", value, users, decimals, c));
  const own = Math.min(k, n), all = at(own), outline = all.outline(), x = outline.map(([u]) => u);
  const cutoffs = cut ? E.upTo(n, own, Math.round(M.resembledCutoff(k, n, m))) : [n];
  const [low, high] = all.boundsWithError;
  const [verdict, tone] = high - low > 0.3 ? ["Says little", "bad"]
    : high - low > 0.05 ? ["Says something", "open"] : ["Says much", "good"];
  return {
    verdict, tone,
    sentence: `A sampled ${name} of ${value} (${E.drawn(form)}${
      decimals < 4 ? `; rounded by up to ${0.5 * 10 ** -decimals}` : ""}). ${
      cut ? `${E.resembles(form)} ${whole(n)}. ` : ""}Chance aside, exact ${name} ${
      E.canBe(all.bounds)}. With ${E.count(users, "user")} the standard error is ${
      metric === "HR@k" ? "" : "at most "}${fixed(all.standardError, 4)}: with 95 percent confidence, exact ${
      name} ${E.canBe(all.boundsWithError)}.`,
    plots: [{
      at: value, atField: "value",
      x: { min: x[0], max: x.at(-1), label: `sampled ${name} (drag the dotted line)` },
      y: { min: 0, max: 1.02, label: `exact ${name}` },
      ...E.between(outline),
    }],
    tables: [[["exact metric", "lowest", "highest", "lowest, 95 %", "highest, 95 %"],
      ...cutoffs.map((c) => [E.nameOf({ metric, k: c }),
        ...[...at(c).bounds, ...at(c).boundsWithError].map((v) => fixed(v))])]],
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
    const value = E.shareOf(form.value, "value"), decimals = decimalsOf(form.value);
    return E.code(`draw = ${E.drawCode(form)}
print(explain(
    ${E.publishedCode(form)}, ${value}, draw, n_users=${form.users},${
  decimals === 4 ? "" : ` decimals=${decimals},`}
))`);
  },
  idle: ({ metric }) => (isCut(metric) ? [] : ["k"]),
  show,
});
})();
