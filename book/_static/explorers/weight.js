// What one rank is worth, exactly and in a sampled evaluation.
(() => {
"use strict";
const M = sampledMetrics, E = explorers, { fixed, whole } = E;

const show = (form) => {
  E.checkDraw(form);
  const { n, m } = form, [metric, name] = E.chosen(form), values = M.sampledValues(metric, m);
  const kinds = [(r) => metric(r, n), (r) => M.expectation(values, r, n, form.replacement)];
  const r = Math.round(Math.sqrt(n)), [exact, sampled] = kinds.map((f) => fixed(f(r)));
  const grid = E.spaced(1, n, 150);
  return {
    sentence: `At rank ${whole(r)}, exact ${name} is ${exact}; expected sampled ${name} (${
      E.drawn(form)}) is ${sampled}.`,
    plots: [{
      x: E.toRank(n, "exact rank r"), y: { min: 0, max: 1.02 },
      lines: kinds.map((f, i) => ({
        style: i, name: ["exact", "expected sampled"][i], points: grid.map((r) => [r, f(r)]),
      })),
    }],
    tables: [[["rank", "exact", "sampled"],
      ...E.upTo(n, 2, 5, 20, 50).map((r) => [whole(r), ...kinds.map((f) => fixed(f(r)))])]],
  };
};

E.add("weight", {
  controls: E.metricAndCutoff + E.sampling(99, 10000, 1e5) + E.twice,
  tables: ["Weight of single ranks"],
  idle: E.idleCutoff,
  show,
});
})();
