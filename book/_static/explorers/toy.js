// Three recommenders and five users: where does the order flip?
(() => {
"use strict";
const M = sampledMetrics, E = explorers, { fixed, toRank } = E;
const n = 10000, NAMES = Object.keys(M.TOY);

// The scale changes in steps only, so that one can see the lines move.
const roof = (value) => [0.02, 0.05, 0.1, 0.2, 0.5].find((top) => value < 0.97 * top) ?? 1;

const ranksOf = (form) => NAMES.map((who) => M.TOY[who].map((_, i) => form[who + i]));

const show = (form) => {
  const [metric, name] = E.chosen(form), values = M.sampledValues(metric, form.m);
  const ranks = ranksOf(form);
  const means = (f) => ranks.map((five) => M.mean(five.map(f)));
  const exact = means((r) => metric(r, n));
  const sampled = means((r) => M.expectation(values, r, n, form.replacement));
  const sign = (v, i, j) => Math.sign(+(v[i] - v[j]).toFixed(9));
  const order = (v) => [0, 1, 2].sort((i, j) => sign(v, j, i)).map((j, at, all) =>
    (at ? (sign(v, all[at - 1], j) ? " > " : " = ") : "") + NAMES[j]).join("");
  const pairs = [[0, 1], [0, 2], [1, 2]].map(([i, j]) => [sign(exact, i, j), sign(sampled, i, j)]);
  const [verdict, tone] = pairs.some(([one, other]) => one * other < 0) ? ["Order flips", "bad"]
    : pairs.some(([one, other]) => one && !other) ? ["Order lost", "open"] : ["Order holds", "good"];
  return {
    verdict, tone,
    sentence: `By exact ${name} the order is ${order(exact)}; by expected sampled ${name} (${
      E.drawn({ ...form, n })}) it is ${order(sampled)}.`,
    plots: [{
      height: 240, small: 190,
      x: { min: -0.2, max: 1.2, ticks: [[0, "exact"], [1, "sampled"]] },
      y: { min: 0, max: roof(Math.max(...exact, ...sampled)), label: `mean ${name}` },
      lines: NAMES.map((name, style) => ({ style, name, points: [[0, exact[style]],
        [1, sampled[style]]] })),
    }, {
      text: NAMES.map((who, i) => `${who}: ${ranks[i].join(", ")}.`).join(" "),
      height: 320, small: 270, x: toRank(n, "exact ranks (drag the marks)"),
      y: { min: -14.6, max: 0.6, ticks: NAMES.map((who, i) => [-5 * i - 2, who]) },
      bands: NAMES.map((_, i) => [-5 * i - 4.5, -5 * i + 0.5]),
      marks: ranks.flatMap((five, i) => five.map((x, j) => ({
        style: i, x, y: -5 * i - j, field: NAMES[i] + j,
        name: `rank of ${NAMES[i]} in instance ${j + 1}`,
      }))),
    }],
    tables: [[["recommender", "exact", "sampled"],
      ...NAMES.map((who, i) => [who, fixed(exact[i]), fixed(sampled[i])])]],
  };
};

E.add("toy", {
  controls: E.folded("The ranks as numbers", NAMES.map((who) => `<fieldset><legend>ranks of ${who}</legend>${
    M.TOY[who].map((rank, i) =>
      E.numberIn(who + i, `rank of ${who} in instance ${i + 1}`, rank, 1, n)).join("")
  }</fieldset>`).join("")) + E.metricAndCutoff + E.sampling(99) + E.twice,
  panels: 2,
  tables: ["Mean over the five instances"],
  presets: [
    ["99 negatives, k = 10 (He et al. 2017)", { metric: "Recall", k: 10, m: 99 }],
    ["100 negatives, k = 10 (Kang and McAuley 2018)", { metric: "Recall", k: 10, m: 100 }],
    ["999 negatives, k = 10 (MLPerf 2018)", { metric: "Recall", k: 10, m: 999 }],
  ],
  python: (form) => E.code(`${E.ranksCode(NAMES, ranksOf(form))}
metric = ${E.metricCode(form)}
draw = ${E.drawCode({ ...form, n })}
exact = metric(ranks, ${n}).mean(axis=1)
sampled = draw.expect(ranks, metric).mean(axis=1)
for name, *row in zip("ABC", exact, sampled):
    print(name, *(f"{value:.3f}" for value in row))`),
  idle: E.idleCutoff,
  show,
});
})();
