// Three recommenders and five users: where does the order flip?
(() => {
"use strict";
const M = sampledMetrics, E = explorers, { fixed, toRank } = E;
const n = 10000, NAMES = Object.keys(M.TOY);

const show = (form) => {
  const [metric, name] = E.chosen(form), values = M.sampledValues(metric, form.m);
  const ranks = NAMES.map((who) => M.TOY[who].map((_, i) => form[who + i]));
  const means = (f) => ranks.map((five) => M.mean(five.map(f)));
  const exact = means((r) => metric(r, n));
  const sampled = means((r) => M.expectation(values, r, n, form.replacement));
  const sign = (v, i, j) => Math.sign(+(v[i] - v[j]).toFixed(9));
  const order = (v) => [0, 1, 2].sort((i, j) => sign(v, j, i)).map((j, at, all) =>
    (at ? (sign(v, all[at - 1], j) ? " > " : " = ") : "") + NAMES[j]).join("");
  const flip = (i, j) => sign(exact, i, j) * sign(sampled, i, j) < 0;
  return {
    verdict: flip(0, 1) || flip(0, 2) || flip(1, 2) ? "Order flips" : "Order holds",
    sentence: `By exact ${name} the order is ${order(exact)}; by expected sampled ${name} (${
      E.drawn({ ...form, n })}) it is ${order(sampled)}.`,
    plots: [{
      text: NAMES.map((who, i) => `${who}: ${ranks[i].join(", ")}.`).join(" "),
      height: 430, x: toRank(n, "exact ranks (drag the marks)"),
      y: { min: -14.5, max: 0.5, ticks: NAMES.map((who, i) => [-5 * i - 2, who]) },
      marks: ranks.flatMap((five, i) => five.map((x, j) =>
        ({ style: i, x, y: -5 * i - j, field: NAMES[i] + j }))),
    }, {
      height: 430,
      x: { min: -0.2, max: 1.2, ticks: [[0, "exact"], [1, "sampled"]], label: `mean ${name}` },
      y: { min: 0, max: 1.05 * Math.max(...exact, ...sampled) || 1 },
      lines: NAMES.map((who, i) => ({ style: i, name: who, points: [[0, exact[i]], [1, sampled[i]]] })),
    }],
    tables: [[["recommender", "exact", "sampled"],
      ...NAMES.map((who, i) => [who, fixed(exact[i]), fixed(sampled[i])])]],
  };
};

E.add("toy", {
  controls: `${NAMES.map((who) => `<fieldset><legend>ranks of ${who}</legend>${
    M.TOY[who].map((rank, i) => `<input type="number" name="${who}${i}" value="${rank}" min="1"
    max="${n}" aria-label="rank of ${who} in instance ${i + 1}">`).join("")}</fieldset>`).join("")}
    ${E.metricAndCutoff}${E.sampling(99)}${E.twice}`,
  panels: 2,
  tables: ["Mean over the five instances"],
  idle: E.idleCutoff,
  show,
});
})();
