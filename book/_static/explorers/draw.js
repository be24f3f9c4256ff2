// See the draw: of ten thousand items ninety-nine are drawn, and the right one lands among them.
(() => {
"use strict";
const M = sampledMetrics, E = explorers, { fixed, whole } = E;
const n = 10000, m = 99, NAMES = ["A", "C"], STYLES = [0, 2]; // as in the toy example
const metric = M.reciprocalRank(), five = M.TOY.A.map((_, i) => i);
const all = NAMES.flatMap((who) => M.TOY[who]); // the ranks of A's five right items, and of C's

// One evaluation: for each right item the ranks of 99 other items, none twice.
const round = new Float64Array(n + 1); // in which an item was drawn last
let now = 0;
const evaluate = (state) => {
  const chance = E.generator(state);
  const drawn = all.map((right) => {
    const others = [];
    for (round[right] = ++now; others.length < m;) {
      const one = 1 + Math.floor(n * chance.next());
      if (round[one] === now) continue;
      round[one] = now;
      others.push(one);
    }
    return others;
  });
  return { drawn, state: chance.state };
};
// Where each evaluation begins, and the sampled ranks it gives; for one seed, as far as needed.
let kept = {};
const evaluations = (seed, count) => {
  if (kept.seed !== seed) kept = { seed, states: [200003 * seed], ranks: [] };
  const { states, ranks } = kept;
  while (ranks.length < count) {
    const { drawn, state } = evaluate(states.at(-1));
    ranks.push(drawn.map((others, i) => 1 + others.filter((one) => one < all[i]).length));
    states.push(state);
  }
  const last = count ? evaluate(states[count - 1]).drawn : [];
  return { last, ranks: ranks.slice(0, count) };
};

const means = (ofRank) => NAMES.map((who) => M.mean(M.TOY[who].map(ofRank)));
const values = M.sampledValues(metric, m);
const exact = means((r) => metric(r)), expected = means((r) => M.expectation(values, r, n, false));
const chances = (rank) => {
  const { p, low, high, total } = M.distribution(rank, n, m, false);
  return M.tabulate(m + 1, (i) => (i < low || i > high ? 0 : p[i] / total));
};
M.seeDraw = { chances, evaluations };

// The places of an item among all, a hundred to a line, and among a hundred, ten to a line as high
// as ten: so the top tenth is one stripe. C is below A.
const BELOW = 110;
const inField = (side, rank) =>
  [(rank - 1) % 100, -BELOW * side - Math.floor((rank - 1) / 100) - 0.5];
const inList = (side, rank) =>
  [110 + 5 * ((rank - 1) % 10), -BELOW * side - 10 * Math.floor((rank - 1) / 10) - 5];
// Ten thousand dots are a hundred dotted lines; the stripes are the top tenths.
const fields = (X, Y) => {
  const left = X(0) - 0.5, pitch = (X(99) - X(0)) / 99, d = NAMES.flatMap((_, side) => {
    const top = Y(inField(side, 1)[1]) + 0.5, high = Y(inField(side, n)[1]) + 0.5 - top;
    return M.tabulate(100, (i) =>
      `M${left} ${(top + (high * i) / 99).toFixed(1)}h${(99.5 * pitch).toFixed(1)}`);
  });
  const stripes = NAMES.map((_, side) => `M${X(-1)} ${Y(-BELOW * side)}H${X(157)}V${
    Y(-BELOW * side - 10)}H${X(-1)}z`);
  return `<path class="area" d="${stripes.join("")}"/><path class="field" stroke-dasharray="1 ${
    (pitch - 1).toFixed(3)}" d="${d.join("")}"/>`;
};

// The dots of one recommender: those drawn where they were, and all hundred where they land.
const dotsOf = (side, right, drawn, flight) => {
  const dot = ([x, y], rank, text, more) => ({ x, y, text, ...more,
    style: rank === right ? STYLES[side] : 4 + (rank > right),
    name: `${NAMES[side]}, rank ${whole(rank)} of ${whole(n)}` });
  const hundred = drawn.length ? [...drawn, right].sort((a, b) => a - b) : [];
  return [
    ...drawn.map((rank) => dot(inField(side, rank), rank, "drawn")),
    ...hundred.map((rank, i) => dot(inList(side, i + 1), rank, `rank ${i + 1} of ${m + 1}`,
      { from: inField(side, rank), move: flight })),
    dot(inField(side, right), right, "the right item"),
  ];
};

// What is expected (lines) and was counted (bars) of the sampled ranks 1, ..., end.
const histogram = (end, likely, shares, counts) => {
  const most = Math.max(...likely.flat(), ...shares.flat());
  const bar = (v, i, side) => (X, Y) =>
    `M${X(i + 0.6 + 0.4 * side)} ${Y(0)}V${Y(v)}H${X(i + 1 + 0.4 * side)}V${Y(0)}z`;
  return {
    height: 220, small: 190,
    x: { min: 0.4, max: end + 0.6, name: "sampled rank", label: "sampled rank",
      format: (s) => `${s} (${NAMES.map((who, side) => `${who} ${counts[side][s - 1]}`)
        .join(", ")} times)`,
      ticks: [1, ...M.tabulate(5, (i) => ((i + 1) * end) / 5)].map((s) => [s, s]) },
    y: { min: 0, max: [0.2, 0.5].find((top) => most < 0.97 * top) ?? 1.02,
      label: "share of draws: counted (bars), expected (lines)" },
    lines: NAMES.map((who, side) => ({ style: STYLES[side], name: `${who} expected`,
      points: likely[side].slice(0, end).map((p, i) => [i + 1, p]) })),
    under: (X, Y) => shares.map((all, side) => `<path class="bars s${STYLES[side]}" d="${
      all.slice(0, end).map((v, i) => bar(v, i, side)(X, Y)).join("")}"/>`).join(""),
  };
};

const show = ({ user, draws, seed }) => {
  const { last, ranks } = evaluations(seed, draws);
  const own = NAMES.map((_, side) => user - 1 + five.length * side); // the places of this user's
  const right = own.map((i) => all[i]), likely = right.map(chances);
  const counts = own.map((i) => {
    const times = M.tabulate(m + 1, () => 0);
    for (const found of ranks) times[found[i] - 1]++;
    return times;
  });
  const shares = counts.map((times) => times.map((count) => count / Math.max(draws, 1)));
  const rare = (rank) => counts.every((times, side) => // from there on
    times.every((count, i) => i < rank || (!count && likely[side][i] < 0.001)));
  const end = [10, 20, 40].find(rare) ?? m + 1;
  const scores = ranks.map((found) => NAMES.map((_, side) =>
    M.mean(five.map((i) => 1 / found[i + five.length * side]))));
  const wins = NAMES.map((_, side) =>
    scores.filter((both) => both[side] > both[1 - side] + 1e-12).length);
  const winner = +(wins[1] > wins[0]);
  const counted = NAMES.map((_, side) =>
    (draws ? fixed(M.mean(scores.map((both) => both[side]))) : "–"));
  const both = (texts) => NAMES.map((who, side) => `${who} ${texts[side]}`).join(", ");
  const exactly = exact.map((v) => fixed(v));
  return {
    verdict: draws ? `${NAMES[winner]} wins ${whole(wins[winner])} of ${whole(draws)}`
      : "Exact winner: C",
    tone: draws ? ["bad", "good"][winner] : "good",
    sentence: `The right item of user ${user}: with ${NAMES.map((who, side) =>
      `${who} rank ${whole(right[side])} of all${
        draws ? ` became rank ${ranks.at(-1)[own[side]]} of ${m + 1}` : ""}`).join(", with ")}. ${
      draws ? `Mean reciprocal rank in ${E.count(draws, "draw")}: ${both(counted)}; exactly: `
        : "Exact mean reciprocal rank of the five users: "}${both(exactly)}.`,
    plots: [{
      height: 472, small: 320, under: fields, // 472: lines are two pixels apart
      x: { min: -2, max: 158, bare: true, label: "each dot an item, the best at the top left",
        ticks: [[49.5, `all ${whole(n)}`], [132.5, `${m + 1}`]] },
      y: { min: -BELOW - 100, max: 0, bare: true,
        ticks: NAMES.map((who, side) => [-BELOW * side - 50, who]) },
      marks: NAMES.flatMap((_, side) =>
        dotsOf(side, right[side], last[own[side]] ?? [], `fly${draws % 2}`)),
    }, histogram(end, likely, shares, counts)],
    tables: [
      [["mean", ...NAMES], [`among all ${whole(n)}`, ...exactly],
        [`expected among ${m + 1}`, ...expected.map((v) => fixed(v))],
        [`counted in ${E.count(draws, "draw")}`, ...counted], ["times ahead", ...wins.map(whole)]],
      [["rank", ...NAMES.flatMap((who) => [`${who}, probability`, `${who}, times`])],
        ...M.tabulate(end, (i) => [i + 1, ...NAMES.flatMap((_, side) =>
          [fixed(likely[side][i]), whole(counts[side][i])])])],
    ],
  };
};

E.add("draw", {
  actions: E.adds("draws", [1, "Draw 99"], [100, "A hundred times"]),
  controls: E.steps("user", "user", five.map((i) => i + 1), 2)
    + E.number("draws", "draws so far", 0, 0, 10000)
    + E.number("seed", "seed of chance", 1, 1, 9999),
  panels: 2,
  tables: ["Mean reciprocal rank over the five users", "Sampled rank of the chosen user's item"],
  python: ({ draws, seed }) => E.code(`${E.ranksCode(NAMES, NAMES.map((who) => M.TOY[who]))}
metric = ReciprocalRank()
draw = Draw(${m}, n_items=${n}, replacement=False)
for values in (metric(ranks, ${n}), draw.expect(ranks, metric)):
    print(*(f"{mean:.3f}" for mean in values.mean(axis=1)))

# chance of Python's own
sampled = metric(draw.rvs(ranks, repeats=${draws || 100}, rng=${seed}))
a, c = sampled.mean(axis=2).T
print(f"A is ahead in {np.sum(a > c)} of ${draws || 100} draws")`),
  show,
});
})();
