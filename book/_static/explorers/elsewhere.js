// Who wins, and where? Real recommenders in their exact order, and in the order of a sample.
(() => {
"use strict";
const E = explorers, { fixed, whole } = E;

const DATA = [["beauty", "Beauty"], ["games", "Video Games"], ["movielens", "MovieLens"]];
const METRICS = { "Recall@10": "Recall(10)", "NDCG@10": "NDCG(10)", RR: "ReciprocalRank()",
  AUC: "AUC()" };
const LABELS = { autoencoder: "EASE", x8: "X 8", x16: "X 16", x32: "X 32", x64: "X 64", y: "Y",
  z: "Z", zrow: "Z row" };
const label = ({ recommender }) => LABELS[recommender] ?? recommender;
const percent = (row, m) => fixed(100 * row[m], 2);
const ordinal = (place) => `${place}${{ 1: "st", 2: "nd", 3: "rd" }[place] ?? "th"}`;
const sizes = ([row]) => Object.keys(row).filter((name) => +name).map(Number);

const competitors = ({ data, metric }, rows) =>
  rows.filter((row) => row.data === data && row.metric === metric);
const sorted = (rows, m) => [...rows].sort((a, b) => b[m] - a[m]);
const MOST = 3e5; // where the exact order stands, right of all samples

const show = (form, all) => {
  const { metric, m } = form, rows = competitors(form, all);
  const exact = sorted(rows, "exact"), sampled = sorted(rows, m);
  const fall = (row) => sampled.indexOf(row) - exact.indexOf(row);
  const [winner] = exact, [leader] = sampled;
  const falls = exact.reduce((a, b) => (fall(b) > fall(a) ? b : a));
  const pairs = exact.flatMap((a) => exact.filter((b) =>
    a.ahead_of.split(" ").includes(b.recommender)).map((b) => [a, b]));
  const wrong = pairs.filter(([a, b]) => +a[m] < +b[m]).length;
  const style = (row) => [winner, leader, falls, row].indexOf(row);
  const among = `among ${whole(+m)}`;
  const orders = sizes(all).map((size) => [size, sorted(rows, size)]);
  return {
    verdict: wrong ? (winner === leader ? "Order flips" : "Winner changes") : "Order holds",
    tone: wrong ? "bad" : "good",
    sentence: `Exact winner: ${label(winner)}. Winner ${among}: ${label(leader)}. ${
      wrong} of the ${pairs.length} pairs that exact ${metric} tells apart are in the wrong order${
      fall(falls) > 1 ? `; ${label(falls)} falls from the ${
        ordinal(exact.indexOf(falls) + 1)} to the ${
        ordinal(sampled.indexOf(falls) + 1)} place` : ""}.`,
    plots: [{
      text: `Exact order: ${exact.map(label).join(", ")}. Order ${among}: ${
        sampled.map(label).join(", ")}.`,
      height: 330, small: 290, at: +m, atField: "m", namesAtEnds: true,
      x: { min: orders[0][0], max: MOST, log: true, label: "sampled items, m (drag the line)",
        values: orders.map(([size]) => [size, size]),
        format: (x) => (x < MOST ? `among ${whole(x)}` : "exact"),
        ticks: [...[10, 100, 1e3, 1e4].map((size) => [size, whole(size)]), [MOST, "exact"]] },
      y: { min: 0.5 - rows.length, max: 0.5, label: `place by ${metric}`, format: (y) => ordinal(1 - y),
        ticks: exact.map((row, i) => [-i, ordinal(i + 1)]) },
      lines: exact.map((row, i) => ({ style: style(row), name: label(row),
        points: [...orders.map(([size, order]) => [size, -order.indexOf(row)]), [MOST, -i]] })),
      marks: exact.map((row) => ({ style: style(row), x: +m, y: -sampled.indexOf(row), field: "m" })),
    }],
    tables: [[["recommender", "exact, %", `${among}, %`, "place"],
      ...exact.map((row, i) => [label(row), percent(row, "exact"), percent(row, m),
        `${i + 1} → ${sampled.indexOf(row) + 1}`])]],
  };
};

const python = (form, all) => {
  const names = competitors(form, all).map(({ recommender }) => recommender);
  return E.code(`# in the folder above book/; ${form.m > 200 ? "takes very long" : "takes a minute or more"}
table = pd.read_csv("book/data/elsewhere_${form.data}.csv.gz")
metric, draw = ${METRICS[form.metric]}, Draw(${form.m})
for name in ${JSON.stringify(names.filter((name) => name !== "random"))}:
    ranks = Ranks(table[f"{name}_best"], table[f"{name}_tied"], table["n_items"])
    exact, sampled = metric.mean(ranks), draw.expect(ranks, metric).mean()
    print(f"{name}: exact {exact:.2%}, sampled {sampled:.2%}")`);
};

E.add("elsewhere", {
  controls: (all) => E.select("data", "data set", DATA)
    + E.select("metric", "metric", Object.keys(METRICS))
    + E.steps("m", "m, sampled items", sizes(all), 100),
  tables: ["Exact and expected sampled values"],
  presets: [["Beauty (BERT4Rec's data)", { data: "beauty", metric: "Recall@10", m: "100" }],
    ["Video Games (SASRec's data)", { data: "games", metric: "Recall@10", m: "100" }],
    ["MovieLens, 1,000 samples", { data: "movielens", metric: "Recall@10", m: "1000" }],
    ["AUC: never wrong", { data: "beauty", metric: "AUC", m: "100" }]],
  python,
  show,
});
})();
