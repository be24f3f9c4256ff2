// How many users and samples does it take to order two recommenders?
(() => {
"use strict";
const M = sampledMetrics, E = explorers, { fixed, whole } = E, { normalCdf } = M;

// What the package's Comparison says of this many users.
const comparison = (row, users) => {
  const variance = +row.variance_users + +row.variance_ties + +row.variance_sampling;
  const error = Math.sqrt((variance * row.n_users) / users);
  const lead = (row.difference * Math.sign(row.exact_difference)) / error;
  return {
    error,
    rightOrder: normalCdf(lead),
    power: normalCdf(lead - M.Z),
    usersNeeded: lead > 0 ? Math.max(1, Math.ceil(users * (1.6448536269514722 / lead) ** 2))
      : Infinity,
  };
};
Object.assign(M, { comparison });

const KINDS = ["exact", "corrected", "uncorrected"];
const CLASSES = { "Recall@10": "Recall(10)", "NDCG@10": "NDCG(10)", AP: "AveragePrecision()",
  AUC: "AUC()" };
const points = (value) => fixed(100 * value, 2);
const grid = E.spaced(10, 1e5, 81);

const show = (form, all) => {
  const { pair, metric, m, kind } = form, [first, second] = pair;
  const three = KINDS.map((estimator) => all.find((row) => row.first === first
    && row.second === second && row.metric === metric && row.estimator === estimator
    && row.n_samples === (estimator === "exact" ? "" : m)));
  const style = KINDS.indexOf(kind), found = three.map((row) => comparison(row, form.users));
  const { rightOrder, usersNeeded } = found[style];
  const [verdict, tone] = usersNeeded === Infinity ? ["Never enough", "bad"]
    : form.users < usersNeeded ? ["Too few", "open"] : ["Enough users", "good"];
  return {
    verdict, tone,
    sentence: `With ${whole(form.users)} users, ${kind === "corrected" ? "a" : "an"} ${
      kind} evaluation${kind === "exact" ? "" : ` among ${m} items`} puts ${first} and ${
      second} in the order of their exact ${metric} with probability ${fixed(rightOrder)}. ${
      usersNeeded < Infinity ? `A probability of 95 percent takes ${E.count(usersNeeded, "user")}.`
        : "On average it reports the wrong order, so more users only make it surer of that."}`,
    plots: [{
      at: form.users, atField: "users",
      x: { min: 10, max: 1e5, log: true, name: "users", label: "users (drag the dotted line)" },
      y: { min: 0, max: 1, label: "probability of the right order" },
      lines: three.map((row, i) => ({ style: i, name: KINDS[i],
        points: grid.map((n) => [n, comparison(row, n).rightOrder]) })),
      marks: [{ style, x: form.users, y: rightOrder, field: "users" }],
    }],
    tables: [[["evaluation", "difference", "standard error", "right order", "power",
      "users for 95 %"],
      ...found.map(({ error, rightOrder: right, power, usersNeeded: n }, i) => [KINDS[i],
        points(three[i].difference), points(error), fixed(right), fixed(power),
        n < Infinity ? whole(n) : "never"])]],
  };
};

const python = ({ pair, metric, m, kind, users: n }) => {
  const [first, second] = pair.toLowerCase();
  return E.code(`# in the folder above book/
table = pd.read_csv("book/data/movielens_ranks.csv")
${first}, ${second} = (
    Ranks(table[f"{name}_best"], table[f"{name}_tied"], table["n_items"])
    for name in "${first}${second}"
)
found = compare(${first}, ${second}, ${CLASSES[metric]}${
  kind === "exact" ? "" : `, ${E.drawCode({ m })}`}${
  kind === "corrected" ? ", estimator=BiasVariance(0.1)" : ""}).at(n_users=${n})
print(f"right order {found.right_order():.3f}, power {found.power().right:.3f}")
print(f"users for 95 percent: {found.users_needed():,}")`);
};

E.add("plan", {
  controls: (all) => E.words(`Compare ${E.selectIn("pair", "recommenders",
    [["XY", "X and Y"], ["XZ", "X and Z"], ["YZ", "Y and Z"]])} by their ${
    E.selectIn("metric", "metric", Object.keys(CLASSES))}. The evaluation is ${
    E.selectIn("kind", "evaluation", ["corrected", "uncorrected", "exact"])}, ranks among ${
    E.stepsIn("m", "m, sampled items",
      E.unique(all.map((row) => +row.n_samples).filter(Boolean)), 100)} sampled items, and has ${
    E.numberIn("users", "users", 6040, 10, 1e5)} users.`),
  idle: ({ kind }) => (kind === "exact" ? ["m"] : []),
  tables: ["With this number of users; difference and standard error in points"],
  presets: [["A pilot of 300 users", { kind: "exact", users: 300 }],
    ["All of MovieLens 1M", { kind: "exact", users: 6040 }],
    ["The usual protocol: 100 samples", { kind: "uncorrected", m: "100", users: 6040 }],
    ["100 samples, corrected", { kind: "corrected", m: "100", users: 6040 }]],
  python,
  show,
});
})();
