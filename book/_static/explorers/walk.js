// Watch the walk stop: the scores that an exact rank up to k takes, item by item.
(() => {
"use strict";
const M = sampledMetrics, E = explorers, { fixed, whole } = E, { sum } = M;
const n = 1000, d = 8, SEED = 8128;

// A user's vector of length 1, and items' vectors, made up: sums of four uniform numbers have any
// direction, and lengths fall as in a catalog with a few popular items, from 1 to a sixth.
const chance = E.generator(SEED);
const direction = () => {
  const v = M.tabulate(d, () => chance.next() + chance.next() + chance.next() + chance.next() - 2);
  const length = Math.sqrt(sum(v.map((x) => x * x)));
  return v.map((x) => x / length);
};
const user = direction();
const items = M.tabulate(n, (i) => direction().map((x) => x / Math.sqrt(1 + i / 25)));
const scores = items.map((item) => sum(item.map((x, j) => x * user[j])));
// No score is above the product of the two lengths (Cauchy and Schwarz), and the user's is 1.
const reach = items.map((item) => Math.sqrt(sum(item.map((x) => x * x))));

// Go through the items, the longest first, until one of the rules says that the rank is known up to
// k (1: so many are ahead; 2: no item that is left can be ahead), or `most` scores are spent.
const walk = (target, k, most = n, rules = [1, 2]) => {
  let ahead = 0, spent = 0;
  for (;;) {
    if (rules.includes(1) && ahead >= k) return { spent, ahead, rule: 1 };
    if (spent === n) return { spent, ahead, rule: 3 }; // there are no more
    if (rules.includes(2) && reach[spent] < target) return { spent, ahead, rule: 2 };
    if (spent === most) return { spent, ahead, rule: 0 };
    ahead += scores[spent++] > target;
  }
};
M.walk = Object.assign(walk, { user, items });

const outline = E.spaced(1, n, 80).map((i) => [reach[i - 1], i]).reverse();

const show = ({ target, k, most }) => {
  const { spent, ahead, rule } = walk(target, k, most), others = `of ${whole(n)} scores`;
  const next = `the next item can reach at most ${fixed(reach[spent] ?? 0, 4)}`;
  const are = `${E.count(ahead, "item")} ${ahead === 1 ? "is" : "are"} ahead`;
  const dots = (look, some) => (X, Y) => `<path class="dots ${look}" d="${some.map((i) =>
    `M${X(scores[i])} ${Y(i + 1)}h0`).join("")}"/>`;
  const shown = M.tabulate(n, (i) => i).filter((i) => scores[i] > 0);
  const parts = [dots("left", shown.filter((i) => i >= spent)),
    dots("behind", shown.filter((i) => i < spent && scores[i] <= target)),
    dots("ahead", shown.filter((i) => i < spent && scores[i] > target))];
  const alone = [[1, 2], [1], [2], []].map((rules) => walk(target, k, n, rules).spent);
  return {
    over: rule > 0,
    tone: rule ? "good" : "open",
    verdict: ["Not yet known", `Beyond ${k}`][rule] ?? `Exact rank ${ahead + 1}`,
    sentence: [
      `After ${whole(spent)} ${others}, ${are}, and ${next}: the rank is between ${ahead + 1} and ${
        whole(n + 1 - spent + ahead)}.`,
      `Rule 1 ends the walk after ${whole(spent)} ${others}: ${are}, so the rank is beyond ${k}.`,
      `Rule 2 ends the walk after ${whole(spent)} ${others}: ${are}, and ${
        next}, which is below the target.`,
      `Neither rule ends the walk: all ${whole(n)} scores are computed, and ${are}.`,
    ][rule],
    plots: [{
      height: 400, small: 300, at: target, atField: "target",
      x: { min: 0, max: 1, label: "score (drag the line)", name: "score", format: (v) => fixed(v) },
      y: { min: n, max: 1, log: true, label: "items, the longest vector first",
        format: (i) => `up to item ${whole(i)}`,
        ticks: [1, 10, 100, n].map((i) => [i, whole(i)]) },
      bands: spent ? [[spent, 1]] : [],
      lines: [{ style: 0, name: "can reach", points: outline }],
      marks: [{ style: 1, x: target, y: Math.max(spent, 1), field: "target" }],
      under: (X, Y) => parts.map((part) => part(X, Y)).join(""),
    }],
    tables: [[["walk with", "scores", "of all, %"],
      ...["both rules", "rule 1 alone", "rule 2 alone", "no rule"].map((rules, i) =>
        [rules, whole(alone[i]), fixed((100 * alone[i]) / n, 1)])]],
  };
};

E.add("walk", {
  actions: E.plays("most", "Watch the walk"),
  controls: E.number("target", "target's score", 0.42, 0.01, 1, 120)
    + E.number("k", "cutoff k", 10, 1, 100, 100)
    + E.number("most", "scores at most", n, 1, n, 90),
  tables: ["Scores until the rank is known"],
  presets: [["A hit: rule 2", { target: 0.42, k: 10, most: n }],
    ["Far down: rule 1", { target: 0.15, k: 10, most: n }],
    ["A near miss: rule 1, later", { target: 0.29, k: 10, most: n }],
    ["A larger cutoff", { target: 0.2, k: 60, most: n }],
    ["Where neither helps", { target: 0.15, k: 100, most: n }]],
  python: ({ target, k }) => E.code(`n, d, k, target = ${n}, ${d}, ${k}, ${target}

def uniform(state):
    while True:
        state = 48271 * state % 2147483647
        yield state / 2147483647

four = np.fromiter(uniform(${SEED}), float, 4 * d * (n + 1))
vectors = four.reshape(n + 1, d, 4).sum(axis=2) - 2
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
user, items = vectors[0], vectors[1:] / np.sqrt(1 + np.arange(n)[:, None] / 25)

# the held-out item comes last, and has the target's score
model = InnerProduct([user], np.vstack([items, target * user]))
split = Split.from_pairs([], [], [0], [n], n_users=1, n_items=n + 1)
ranks = Ranks.from_model(model, split, up_to=k)
print(f"exact rank {ranks.best[0]}" if ranks.n_ranked[0] else f"beyond {k}")
print(ranks.n_scores, "scores, as the package goes on by blocks of 64 and more")`),
  show,
});
})();
