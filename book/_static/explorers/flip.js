// On the landing page: the ranks of the toy example, and one slider.
(() => {
"use strict";
const M = sampledMetrics, E = explorers, { fixed, whole } = E;
const n = 10000, NAMES = Object.keys(M.TOY);
const metric = M.averagePrecision(); // the reciprocal rank, as one item is relevant

const means = (m) => {
  const values = M.sampledValues(metric, m);
  const percent = (r) => 100 * M.expectation(values, r, n, false);
  return NAMES.map((who) => M.mean(M.TOY[who].map(percent)));
};
const exact = means(n - 1), curve = E.spaced(1, n - 1, 50).map((m) => [m, means(m)]);
const winner = (v) => NAMES[v.indexOf(Math.max(...v))];

const show = ({ m }) => {
  const sampled = means(m), right = winner(exact) === winner(sampled);
  return {
    verdict: right ? "Right winner" : "Wrong winner",
    tone: right ? "good" : "bad",
    sentence: `Exact winner: ${winner(exact)}. Winner among ${E.count(m, "random item")}: ${
      winner(sampled)}.`,
    plots: [{
      text: `Among ${E.count(m, "item")}, ${NAMES.map((who, i) =>
        `${who} has ${fixed(sampled[i], 1)} percent`).join(", ")}.`,
      height: 280, at: m, atField: "m",
      x: { ...E.toRank(n, "sampled items, m (drag the line)"), name: "m" },
      y: { min: 1, max: 100, log: true, label: "score, percent", format: (v) => fixed(v, 1) },
      lines: NAMES.map((name, i) => ({ style: i, name, points: curve.map(([m, v]) => [m, v[i]]) })),
      marks: NAMES.map((_, i) => ({ style: i, x: m, y: sampled[i], field: "m" })),
    }],
    tables: [[["score", ...NAMES], ["exact", ...exact.map((v) => fixed(v, 1))],
      [`among ${whole(m)}`, ...sampled.map((v) => fixed(v, 1))]]],
  };
};

E.add("flip", {
  controls: E.sampling(99),
  tables: ["Mean reciprocal rank in percent"],
  python: ({ m }) => E.code(`${E.ranksCode(NAMES, NAMES.map((who) => M.TOY[who]))}
metric = ReciprocalRank()
draw = Draw(${m}, n_items=${n}, replacement=False)
for values in (metric(ranks, ${n}), draw.expect(ranks, metric)):
    print(*(f"{100 * mean:.1f}" for mean in values.mean(axis=1)))`),
  show,
});
})();
