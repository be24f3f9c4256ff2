/* The arithmetic of the explorers: functions of the Python package under its names, without its
   checks. A test compares them with the package. */
globalThis.sampledMetrics = (() => {
"use strict";
const sum = (values) => values.reduce((total, value) => total + value, 0);
const tabulate = (length, f) => {
  const values = []; // Array.from({ length }, ...) is ten times as slow
  for (let i = 0; i < length; i++) values.push(f(i));
  return values;
};
// The same of numbers only, which is quick whatever they are.
const table = (length, f) => {
  const values = new Float64Array(length);
  for (let i = 0; i < length; i++) values[i] = f(i);
  return values;
};
const endsOf = (values) => [Math.min, Math.max].map((most) =>
  values.reduce((a, b) => most(a, b))); // as a call takes some thousand values only
const unique = (values) =>
  [...new Float64Array(values).sort()].filter((v, i, sorted) => v !== sorted[i - 1]);
// A function that computes nothing twice.
const remember = (f) => {
  const known = new Map();
  return (x) => known.get(x) ?? known.set(x, f(x)).get(x);
};

// The ranks of the toy example of Krichene & Rendle (2020), among 10,000 items.
const TOY = {
  A: [100, 100, 100, 100, 100], B: [40, 40, 8437, 9266, 4482], C: [212, 2, 743, 5342, 1548],
};

// Metrics: M = sum of g(j, r_j) / Z, of one rank or of a user with several relevant items.
const ALONE = { nRelevant: 1 };
const metric = (k, gain, normalizer) => (user, n) => {
  if (typeof user === "number") {
    return user <= k ? gain(user, 1, ALONE, n) / normalizer(ALONE, 1, n) : 0;
  }
  if (!user.nRelevant) return NaN;
  const hits = user.values.filter((rank) => rank <= k);
  const total = sum(hits.map((rank, i) => gain(rank, i + 1, user, n)));
  return total / normalizer(user, Math.max(hits.length, 1), n);
};
const listed = (user, k) => Math.max(Math.min(user.nPredicted, k), 1);
const discount = (rank) => 1 / Math.log2(rank + 1);
const hit = () => 1;
const capped = (user, k) => Math.min(user.nRelevant, k);

const auc = () => metric(Infinity, (rank, j, user, n) => n - user.nRelevant + j - rank,
  (user, hits, n) => user.nRelevant * (n - user.nRelevant));
const precision = (k, denominator = "k") =>
  metric(k, hit, (user) => (denominator === "k" ? k : listed(user, k)));
const recall = (k, denominator = "relevant") =>
  metric(k, hit, (user) => (denominator === "capped" ? capped(user, k) : user.nRelevant));
const f1 = (k) => metric(k, () => 2, (user) => k + user.nRelevant);
const averagePrecision = (k = Infinity, denominator = "capped") =>
  metric(k, (rank, j) => j / rank, (user, hits) => ({
    relevant: user.nRelevant, capped: capped(user, k), hits, predicted: listed(user, k),
  })[denominator]);
const idealGain = remember((count) => sum(tabulate(count, (i) => discount(i + 1))));
const ndcg = (k = Infinity, ideal = "relevant") => metric(k, discount, (user, hits) =>
  idealGain({ relevant: capped(user, k), hits, full: k }[ideal]));
const reciprocalRank = (k = Infinity) => metric(k, (rank, j) => (j === 1) / rank, hit);
const hitRate = (k) => metric(k, (rank, j) => +(j === 1), hit);

// The dialects of the chapter of that name, with what they divide by.
const dialects = (k) => [
  ["Precision", "k", precision(k)],
  ["Precision", "min(list, k)", precision(k, "predicted")],
  ["Precision", "min(labels, k)", recall(k, "capped")],
  ["Recall", "labels", recall(k)],
  ["Recall", "min(labels, k)", recall(k, "capped")],
  ["F1", "k + labels", f1(k)],
  ["AP", "labels", averagePrecision(k, "relevant")],
  ["AP", "min(labels, k)", averagePrecision(k)],
  ["AP", "hits", averagePrecision(k, "hits")],
  ["AP", "min(list, k)", averagePrecision(k, "predicted")],
  ["NDCG", "labels", ndcg(k)],
  ["NDCG", "hits", ndcg(k, "hits")],
  ["NDCG", "k items", ndcg(k, "full")],
  ["RR", "1", reciprocalRank(k)],
  ["Hit rate", "1", hitRate(k)],
];

// A user without labels counts `empty`; NaN leaves the user out.
const mean = (values, empty = NaN) => {
  const counted = values.map((v) => (isNaN(v) ? empty : v)).filter((v) => !isNaN(v));
  return counted.length ? sum(counted) / counted.length : NaN;
};

const parseItems = (text) => text.split(/[\s,;]+/).filter(Boolean).map((word, i, words) => {
  if (!/^\d{1,15}$/.test(word)) throw Error(`“${word}” is no item number`);
  if (words.findIndex((w) => +w === +word) < i) throw Error(`Item ${+word} stands here twice`);
  return +word;
});

const fromRecommendations = (predictions, labels) => ({
  values: predictions.flatMap((item, i) => (labels.includes(item) ? [i + 1] : [])),
  nRelevant: labels.length,
  nPredicted: predictions.length,
});

// The probabilities of 0, ..., m samples above a rank: p / total, and 0 outside of low, ..., high.
// From a likely number outward, each is a simple multiple of its neighbor, until it is `least`. All
// share one array, so they hold until the next call, and the factors that all ranks have alike.
let shared = new Float64Array(0), steps = shared;
const distribution = (rank, n, m, replacement = true, least = 1e-290) => {
  if (shared.length <= m) shared = new Float64Array(m + 1);
  if (steps.length !== m) steps = table(m, (i) => (m - i) / (i + 1));
  const p = shared, above = rank - 1, below = n - rank, up = above / below, down = below / above;
  const first = replacement ? (below ? 0 : m) : Math.max(0, m - below);
  const last = replacement ? (above ? m : 0) : Math.min(m, above);
  let low = Math.min(Math.max(Math.floor((m * above) / (n - 1)), first), last), high = low;
  let one = (p[low] = 1), total = 1;
  for (; high < last && one > least; p[++high] = one) {
    one *= steps[high] * (replacement ? up : (above - high) / (below - m + high + 1));
    total += one;
  }
  for (one = 1; low > first && one > least; p[--low] = one) {
    one *= steps[m - low] * (replacement ? down : (below - m + low) / (above - low + 1));
    total += one;
  }
  return { p, low, high, total };
};

const sampledValues = (metric, m) => table(m + 1, (i) => metric(i + 1, m + 1));

const average = (values, { p, low, high, total }) => {
  let all = 0;
  for (let i = low; i <= high; i++) all += p[i] * values[i];
  return all / total;
};
const variance = (values, { p, low, high, total }, center) => {
  let all = 0;
  for (let i = low; i <= high; i++) all += p[i] * (values[i] - center) ** 2;
  return all / total;
};
const expectation = (values, rank, n, replacement) =>
  average(values, distribution(rank, n, values.length - 1, replacement));

// Corrections: estimates for the sampled ranks 1, ..., m + 1.
const uncorrected = (metric, n, m) => sampledValues(metric, m);
const rankEstimate = (metric, n, m) =>
  table(m + 1, (i) => metric(1 + Math.floor(((n - 1) * i) / m), n));

// The probabilities of 0, ..., m samples above each rank up to the middle, one rank after the other
// in one array; the other half of the ranks has the same, reversed.
let packed = new Float64Array(2 ** 16);
const distributions = (n, m, least) => {
  const lows = [], ends = [0];
  for (let r = 0; r <= (n - 1) / 2; r++) {
    const { p, low, high, total } = distribution(r + 1, n, m, true, least);
    const start = ends[r] - low, share = (2 * r < n - 1 ? 1 : 0.5) / total / n;
    if (start + high >= packed.length) {
      const longer = new Float64Array(2 * packed.length + m);
      longer.set(packed);
      packed = longer;
    }
    for (let i = low; i <= high; i++) packed[start + i] = p[i] * share;
    lows.push(low);
    ends.push(start + high + 1);
  }
  return { packed, lows, ends };
};

// What biases and variances depend on: means over all ranks of the probabilities P of the sampled
// ranks, of their products (the Gram matrix), of P times the exact metric, and of its square. They
// follow from the means for 2m draws: of i + j hits, i fall to the first m draws. So, with the ways
// to choose hits, the entry i, j of the matrix is ways[i] * ways[j] * both[i + j].
const leastOf = (n, m) => (n > 2 * m ? 1e-16 : 1e-70); // some sampled ranks live in the tails
const chancesOf = (n, m) => distributions(n, 2 * m, leastOf(n, m));
const problem = (metric, n, m, { packed, lows, ends } = chancesOf(n, m)) => {
  const exact = table(n, (r) => metric(r + 1, n)), last = 2 * m;
  const [half, gains, mirrored] = tabulate(3, () => new Float64Array(last + 1));
  lows.forEach((low, r) => {
    const own = exact[r], other = exact[n - 1 - r], shift = ends[r] - low;
    for (let i = low; i < ends[r + 1] - shift; i++) {
      const one = packed[shift + i];
      half[i] += one;
      gains[i] += one * own;
      mirrored[i] += one * other;
    }
  });
  const ways = choose(m), all = choose(last);
  const both = table(last + 1, (i) => (half[i] + half[last - i]) / all[i]);
  const gained = table(last + 1, (i) => (gains[i] + mirrored[last - i]) / all[i]);
  return { m, least: leastOf(n, m), ways, both, share: times(both, ways), b: times(gained, ways),
    c: dot(exact, exact) / n };
};
// The product of such a matrix and a vector, or the sums of its rows.
const times = (both, ways, values = ways.map(() => 1)) => {
  const weights = ways.map((v, i) => v * values[i]);
  return ways.map((v, i) => v * dot(weights, both.subarray(i)));
};
const choose = (m) => {
  const ways = new Float64Array(m + 1).fill(1);
  for (let i = 1; i <= m; i++) ways[i] = (ways[i - 1] * (m - i + 1)) / i;
  return ways;
};

// Equation 25 of Krichene & Rendle (2020), scaled to a symmetric matrix with eigenvalues from gamma
// to 1, by Cholesky's method. Far from the diagonal, next to nothing is left out.
const biasVariance = (gamma, { m, least, ways, both, share, b }) => {
  const scale = share.map((value) => 1 / Math.sqrt(value)), x = b.map((v, i) => v * scale[i]);
  const weight = scale.map((v, i) => v * ways[i]);
  const width = m + 1, factor = new Float64Array(width * width); // row by row
  for (let i = 0; i <= m; i++) {
    const entry = (j) => (1 - gamma) * weight[i] * weight[j] * both[i + j], row = i * width;
    let first = 0;
    while (first < i && entry(first) < least) first++;
    for (let j = first; j <= i; j++) {
      let rest = entry(j) + (i === j ? gamma : 0);
      const other = j * width;
      for (let l = first; l < j; l++) rest -= factor[row + l] * factor[other + l];
      factor[row + j] = i === j ? Math.sqrt(rest) : rest / factor[other + j];
    }
    for (let l = first; l < i; l++) x[i] -= factor[row + l] * x[l];
    x[i] /= factor[row + i];
  }
  for (let i = m; i >= 0; i--) {
    for (let l = i + 1; l <= m; l++) x[i] -= factor[l * width + i] * x[l];
    x[i] /= factor[i * width + i];
  }
  return x.map((value, i) => value * scale[i]);
};

const dot = (v, w) => {
  let all = 0;
  for (let i = 0; i < v.length; i++) all += v[i] * w[i];
  return all;
};

// Root mean squares over all ranks of the bias and the standard deviation of a table.
const averageError = (values, { ways, both, share, b, c }) => {
  const square = dot(values, times(both, ways, values));
  return [square - 2 * dot(b, values) + c, dot(share, values.map((v) => v * v)) - square]
    .map((v) => Math.sqrt(Math.max(v, 0)));
};

// The highest mean of y of two points (or one) whose mean of x is `at`, and where these stand.
const hullAbove = (x, y, at) => {
  const higher = (i, j) => (y[i] <= y[j] ? j : i);
  let a, b, alone; // the highest to the left, to the right, and there
  for (let i = 0; i < x.length; i++) {
    if (x[i] < at) a = higher(i, a);
    else if (x[i] > at) b = higher(i, b);
    else alone = higher(i, alone);
  }
  if (!(a + b >= 0)) return [y[alone], [alone]];
  const height = (a, b) => y[a] + (y[b] - y[a]) * ((at - x[a]) / (x[b] - x[a]));
  let highest = height(a, b), before;
  do {
    before = highest;
    for (let i = 0; i < x.length; i++) {
      const left = x[i] < at, one = left ? height(i, b) : x[i] > at ? height(a, i) : -Infinity;
      if (one > highest) [highest, a, b] = left ? [one, i, b] : [one, a, i];
    }
  } while (highest > before);
  return y[alone] >= highest ? [y[alone], [alone]] : [highest, [a, b]];
};

// Extremes of the exact metric, y, where the expected sampled one, x, is from ends[0] to ends[1].
// Some ranks are looked at first; if `finer`, also those between the ones that matter and their
// neighbors.
const extremes = ([ranks, xs, ys, meanOf, exactOf], ends, finer) => [-1, 1].map((sign) => {
  const some = [...ranks], x = [...xs], y = ys.map((v) => sign * v);
  for (;;) {
    const top = x[y.indexOf(Math.max(...y))];
    const [value, mixed] = hullAbove(x, y, Math.min(Math.max(top, ends[0]), ends[1]));
    let done = true;
    for (let i = some.length - 1; finer && i > 0; i--) { // from the last, as what follows moves
      if (!mixed.includes(i) && !mixed.includes(i - 1)) continue;
      const [from, to] = [some[i - 1], some[i]], quarter = (to - from) / 4;
      const more = [3, 2, 1].map((j) => Math.round(to - j * quarter))
        .filter((r, j, all) => from < r && r < to && r !== all[j - 1]);
      if (more.length) done = false;
      some.splice(i, 0, ...more);
      x.splice(i, 0, ...more.map(meanOf));
      y.splice(i, 0, ...more.map((rank) => sign * exactOf(rank)));
    }
    if (done) return sign * value || 0;
  }
});

const Z = 1.959963984540054; // for 95 percent
// What a published sampled metric can mean, for several values and exact metrics: the package's
// explain(), with 95 percent confidence. For a drawing, a coarse look is enough, without chance.
const explain = (metric, n, m, replacement) => {
  const values = sampledValues(metric, m);
  const [least, largest] = endsOf(values);
  const offs = [values.map((v) => v - least), values.map((v) => largest - v)];
  const means = remember((rank) => { // how far its expected sampled metric is from both ends
    const among = distribution(rank, n, m, replacement, 1e-30);
    return offs.map((off) => average(off, among));
  });
  const usual = [...tabulate(32, (i) => i + 1), n,
    ...tabulate(160, (i) => Math.round(32 * 1.25 ** i)).filter((rank) => rank < n)];
  const inside = (v) => Math.min(Math.max(v, least), largest);
  const binary = new Set(values).size < 3;
  const widest = (v) => (largest - v) * (v - least); // variance with this mean
  return (value, users, exact = metric, cutoff = n, { decimals = 4, finer = true } = {}) => {
    const slack = 0.5 * 10 ** -decimals, v = inside(value);
    if (Math.abs(v - value) > slack + 1e-9) return null;
    const low = inside(v - slack), high = inside(v + slack);
    const interval = [[low, -Z], [high, Z]].map(([end, z]) => {
      const error = Math.hypot(Math.sqrt(widest(end) / users), (z * (largest - least)) / 2 / users);
      const shift = (z * z * ((least + largest) / 2 - end)) / users;
      return inside(end + (shift + z * error) / (1 + (z * z) / users));
    });
    const ranks = unique([...usual, cutoff, cutoff + 1].filter((rank) => rank <= n));
    const exactOf = remember((rank) => exact(rank, n)), y = ranks.map(exactOf);
    const curves = [0, 1].map((side) => {
      const meanOf = (rank) => means(rank)[side];
      return [ranks, ranks.map(meanOf), y, meanOf, exactOf];
    });
    const range = (low, high, closely = finer) => (low + high > least + largest
      ? extremes(curves[1], [largest - high, largest - low], closely) // digits are kept
      : extremes(curves[0], [low - least, high - least], closely)); // near both ends
    return {
      value: v, ends: [least, largest], binary, bounds: range(low, high), boundsWithError: finer && range(...interval), interval,
      standardError: Math.sqrt(widest(v) / users),
      // of printed values, with this one, so that the curves meet it; the last step can be a jump
      outline: () => unique([...[...tabulate(60, (i) => i / 60), 1 - 2 * slack, 1]
        .map((share) => least + share * (largest - least)), v])
        .map((u) => [u, ...range(inside(u - slack), inside(u + slack), false)]),
    };
  };
};
const resembledCutoff = (k, n, m) => (n * Math.min(k, m + 1)) / (m + 1);

// The normal distribution function, by its series (Marsaglia 2004).
const normalCdf = (z) => {
  if (Math.abs(z) > 8) return +(z > 0);
  let total = z, term = z;
  for (let i = 3; Math.abs(term) > 1e-18; i += 2) total += term *= (z * z) / i;
  return 0.5 + (total * Math.exp((-z * z) / 2)) / Math.sqrt(2 * Math.PI);
};

return {
  TOY, Z, auc, average, averageError, averagePrecision, biasVariance, chancesOf, dialects,
  distribution, endsOf, expectation, explain, fromRecommendations, mean, ndcg, normalCdf, parseItems,
  problem, rankEstimate, recall, reciprocalRank, remember, resembledCutoff, sampledValues, sum,
  tabulate, uncorrected, unique, variance,
};
})();
