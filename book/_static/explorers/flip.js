// On the landing page: the ranks of the toy example, and one slider.
(() => {
"use strict";
const M = sampledMetrics, E = explorers, { fixed, whole } = E;
const n = 10000, NAMES = Object.keys(M.TOY);
const metric = M.averagePrecision(); // the reciprocal rank, as one item is relevant

const means = (m) => {
  const values = M.sampledValues(metric, m);
  return NAMES.map((who) => M.mean(M.TOY[who].map((r) => 100 * M.expectation(values, r, n, false))));
};
const exact = means(n - 1), curve = E.spaced(1, n - 1, 50).map((m) => [m, means(m)]);
const winner = (v) => NAMES[v.indexOf(Math.max(...v))];

const show = ({ m }) => {
  const sampled = means(m);
  return {
    verdict: winner(exact) === winner(sampled) ? "Order holds" : "Order flips",
    sentence: `Exact winner: ${winner(exact)}. Winner among ${whole(m)} random items: ${
      winner(sampled)}.`,
    plots: [{
      text: `Among ${whole(m)} items, ${NAMES.map((who, i) =>
        `${who} has ${fixed(sampled[i], 1)} percent`).join(", ")}.`,
      height: 300, at: m, x: E.toRank(n, "sampled items, m (drag the line)"),
      y: { min: 1, max: 100, log: true },
      lines: NAMES.map((name, i) => ({ style: i, name, points: curve.map(([m, v]) => [m, v[i]]) })),
      marks: NAMES.map((_, i) => ({ style: i, x: m, y: sampled[i], field: "m" })),
    }],
    tables: [[["", ...NAMES], ["exact", ...exact.map((v) => fixed(v, 1))],
      [`among ${whole(m)}`, ...sampled.map((v) => fixed(v, 1))]]],
  };
};

E.add("flip", { controls: E.sampling(99), tables: ["Mean reciprocal rank in percent"], show });
})();
