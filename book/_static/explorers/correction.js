// What a correction gains in bias, and what it costs in variance.
(() => {
"use strict";
const M = sampledMetrics, E = explorers, { fixed, whole } = E;
const NAMES = ["uncorrected", "rank estimate", "corrected"], KINDS = ["bias", "standard deviation"];

// The scale changes in steps only, so that one can see the curves move.
const roof = (value) =>
  Math.sign(value) * ([0, 0.02, 0.05, 0.1, 0.2, 0.5, 1].find((top) => Math.abs(value) <= top) ?? 2);

// Another gamma is the same problem, and another metric has the same chances.
const chancesOf = E.keepLast(M.chancesOf);
const problemOf = E.keepLast((metric, k, n, m) =>
  M.problem(E.chosen({ metric, k })[0], n, m, chancesOf(n, m)));

const show = (form) => {
  const { n, m, gamma } = form, [metric, name] = E.chosen(form), grid = E.spaced(1, n, 120);
  if (n < 3) E.refuse("n", "At least 3, please.");
  const problem = problemOf(form.metric, form.k, n, m);
  const tables = [M.uncorrected(metric, n, m), M.rankEstimate(metric, n, m),
    M.biasVariance(gamma, problem)];
  const errors = tables.map((t) => M.averageError(t, problem).map((v) => fixed(v, 4)));
  const curves = grid.map((r) => {
    const among = M.distribution(r, n, m, true, 1e-30);
    return tables.map((values) => {
      const center = M.average(values, among);
      return [center - metric(r, n), Math.sqrt(M.variance(values, among, center))];
    });
  });
  const gains = +errors[2][0] < +errors[0][0];
  return {
    verdict: gains ? "Less bias" : "No gain",
    tone: gains ? "good" : "bad",
    sentence: `${name}, n = ${whole(n)}, m = ${m}, γ = ${gamma}: ${KINDS.map((kind, i) =>
      `average ${kind} ${errors[0][i]} uncorrected, ${errors[2][i]} corrected`).join("; ")}.`,
    plots: KINDS.map((kind, which) => {
      const all = curves.flatMap((three) => three.map((both) => both[which]));
      return {
        text: NAMES.map((who, i) => `${who} ${errors[i][which]}`).join(", "),
        height: 250, small: 180,
        x: { ...E.toRank(n, "exact rank"), name: "rank" },
        y: { min: roof(Math.min(...all)), max: roof(Math.max(0.01, ...all)), label: kind },
        lines: NAMES.map((name, i) =>
          ({ style: i, name, points: grid.map((r, at) => [r, curves[at][i][which]]) })),
      };
    }),
    tables: [
      [["estimator", ...KINDS], ...NAMES.map((who, i) => [who, ...errors[i]])],
      [["sampled rank", ...NAMES],
        ...M.tabulate(Math.min(12, m + 1), (i) =>
          [i + 1, ...tables.map((values) => fixed(values[i], 4))])],
    ],
  };
};

E.add("correction", {
  controls: `${E.metricAndCutoff}${E.number("gamma", "γ, price of variance", 0.1, 0.001, 1, 61)}
    ${E.sampling(100, 10000)}`,
  panels: 2,
  tables: ["Averages over all ranks (root mean squares)", "Estimate for the first sampled ranks"],
  presets: [
    ["99 negatives, k = 10 (He et al. 2017)", { metric: "Recall", k: 10, n: 3706, m: 99 }],
    ["100 negatives, k = 10 (Kang and McAuley 2018)", { metric: "Recall", k: 10, n: 3416, m: 100 }],
  ],
  python: (form) => E.code(`metric = ${E.metricCode(form)}
draw = ${E.drawCode({ ...form, replacement: true })}
ranks = np.arange(1, ${form.n} + 1)
for estimator in (Uncorrected(), RankEstimate(), BiasVariance(gamma=${form.gamma})):
    fitted = estimator.fit(metric, draw)
    both = np.mean(fitted.bias(ranks) ** 2), np.mean(fitted.variance(ranks))
    print(*(f"{np.sqrt(square):.4f}" for square in both))`),
  idle: E.idleCutoff,
  show,
});
})();
