// What one rank is worth, exactly and in a sampled evaluation.
(() => {
"use strict";
const M = sampledMetrics, E = explorers, { fixed, whole } = E;

const ranksOf = (n) => E.upTo(n, 2, 5, 20, 50);

const show = (form) => {
  E.checkDraw(form);
  const { n, m } = form, [metric, name] = E.chosen(form), values = M.sampledValues(metric, m);
  const kinds = [(r) => metric(r, n), (r) => M.expectation(values, r, n, form.replacement)];
  const r = Math.round(Math.sqrt(n)), [exact, sampled] = kinds.map((f) => fixed(f(r)));
  const grid = E.spaced(1, n, 150);
  const more = +sampled - +exact;
  return {
    verdict: more > 0 ? "Sampled overpays" : more < 0 ? "Sampled underpays" : "Same pay",
    tone: more ? "bad" : "good",
    sentence: `At rank ${whole(r)}, exact ${name} is ${exact}; expected sampled ${name} (${
      E.drawn(form)}) is ${sampled}.`,
    plots: [{
      x: { ...E.toRank(n, "exact rank r"), name: "r" }, y: { min: 0, max: 1.02, label: name },
      lines: kinds.map((f, i) => ({
        style: i, name: ["exact", "expected sampled"][i], points: grid.map((r) => [r, f(r)]),
      })),
    }],
    tables: [[["rank", "exact", "sampled"],
      ...ranksOf(n).map((r) => [whole(r), ...kinds.map((f) => fixed(f(r)))])]],
  };
};

E.add("weight", {
  controls: E.metricAndCutoff + E.sampling(99, 10000, 1e5) + E.twice,
  tables: ["Weight of single ranks"],
  presets: [
    ["99 negatives, k = 10 (He et al. 2017)", { metric: "Recall", k: 10, n: 3706, m: 99 }],
    ["100 negatives, k = 10 (Kang and McAuley 2018)", { metric: "Recall", k: 10, n: 3416, m: 100 }],
    ["999 negatives, k = 10 (MLPerf 2018)", { metric: "Recall", k: 10, n: 26744, m: 999 }],
  ],
  python: (form) => E.code(`ranks = np.array([${
    ranksOf(form.n).join(", ")}])
metric = ${E.metricCode(form)}
draw = ${E.drawCode(form)}
for row in zip(ranks, metric(ranks, ${form.n}), draw.expect(ranks, metric)):
    print("{} {:.3f} {:.3f}".format(*row))`),
  idle: E.idleCutoff,
  show,
});
})();
