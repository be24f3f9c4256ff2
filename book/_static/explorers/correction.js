// What a correction gains in bias, and what it costs in variance.
(() => {
"use strict";
const M = sampledMetrics, E = explorers, { fixed, whole } = E;
const NAMES = ["uncorrected", "rank estimate", "corrected"], KINDS = ["bias", "standard deviation"];

const show = (form) => {
  const { n, m, gamma } = form, [metric, name] = E.chosen(form), grid = E.spaced(1, n, 120);
  if (n < 3) E.refuse("n", "At least 3, please.");
  const tables = [M.uncorrected(metric, n, m), M.rankEstimate(metric, n, m),
    M.biasVariance(gamma, metric, n, m)];
  const errors = tables.map((t) => M.averageError(t, metric, n).map((v) => fixed(v, 4)));
  const curves = grid.map((r) => {
    const p = M.rankDistribution(r, n, m);
    return tables.map((values) => {
      const [center, variance] = M.meanAndVariance(values, p);
      return [center - metric(r, n), Math.sqrt(variance)];
    });
  });
  return {
    sentence: `${name}, n = ${whole(n)}, m = ${m}, γ = ${gamma}: ${KINDS.map((kind, i) =>
      `average ${kind} ${errors[0][i]} uncorrected, ${errors[2][i]} corrected`).join("; ")}.`,
    plots: KINDS.map((kind, which) => {
      const all = curves.flatMap((three) => three.map((both) => both[which]));
      return {
        text: NAMES.map((who, i) => `${who} ${errors[i][which]}`).join(", "),
        x: E.toRank(n, `${kind} by exact rank`),
        y: { min: Math.min(0, ...all), max: 1.05 * Math.max(0.01, ...all) },
        lines: NAMES.map((name, i) =>
          ({ style: i, name, points: grid.map((r, at) => [r, curves[at][i][which]]) })),
      };
    }),
    tables: [
      [["estimator", ...KINDS], ...NAMES.map((who, i) => [who, ...errors[i]])],
      [["sampled rank", ...NAMES],
        ...tables[0].map((_, i) => [i + 1, ...tables.map((values) => fixed(values[i], 4))])],
    ],
  };
};

E.add("correction", {
  controls: `${E.metricAndCutoff}${E.number("gamma", "γ, price of variance", 0.1, 0.001, 1, 61)}
    ${E.sampling(100, 10000)}`,
  panels: 2,
  tables: ["Root mean squares over all ranks", "Estimate for each sampled rank"],
  idle: E.idleCutoff,
  show,
});
})();
