/* The arithmetic of the explorers: functions of the Python package under its names, without its
   checks. A test compares them with the package. */
globalThis.sampledMetrics = (() => {
"use strict";
const sum = (values) => values.reduce((total, value) => total + value, 0);
const tabulate = (length, f) => Array.from({ length }, (_, i) => f(i));

// The ranks of the toy example of Krichene & Rendle (2020), among 10,000 items.
const TOY = {
  A: [100, 100, 100, 100, 100], B: [40, 40, 8437, 9266, 4482], C: [212, 2, 743, 5342, 1548],
};

// Metrics: M = sum of g(j, r_j) / Z, of one rank or of a user with several relevant items.
const metric = (k, gain, normalizer) => (ranks, n) => {
  const user = typeof ranks === "number" ? { values: [ranks], nRelevant: 1 } : ranks;
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
const ndcg = (k = Infinity, ideal = "relevant") => metric(k, discount, (user, hits) =>
  sum(tabulate({ relevant: capped(user, k), hits, full: k }[ideal], (i) => discount(i + 1))));
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

// From a likely count of hits outward, each probability is a simple multiple of its neighbor.
const rankDistribution = (rank, n, m, replacement = true) => {
  const above = rank - 1, below = n - rank, used = replacement ? 0 : 1;
  const low = replacement ? (below ? 0 : m) : Math.max(0, m - below);
  const high = replacement ? (above ? m : 0) : Math.min(m, above);
  const ratio = (h) => ((m - h) / (h + 1)) * ((above - used * h) / (below - used * (m - h - 1)));
  const start = Math.min(Math.max(Math.floor((m * above) / (n - 1)), low), high);
  const p = Array(m + 1).fill(0);
  p[start] = 1;
  for (let h = start; h < high && p[h]; h++) p[h + 1] = p[h] * ratio(h);
  for (let h = start; h > low && p[h]; h--) p[h - 1] = p[h] / ratio(h - 1);
  const total = sum(p);
  return p.map((value) => value / total);
};

const sampledValues = (metric, m) => tabulate(m + 1, (i) => metric(i + 1, m + 1));

const meanAndVariance = (values, p) => {
  const center = sum(p.map((share, i) => share * values[i]));
  return [center, sum(p.map((share, i) => share * (values[i] - center) ** 2))];
};
const expectation = (values, rank, n, replacement = true) =>
  meanAndVariance(values, rankDistribution(rank, n, values.length - 1, replacement))[0];
const expectedMetric = (metric, rank, n, m, replacement = true) =>
  expectation(sampledValues(metric, m), rank, n, replacement);

// Corrections: estimates for the sampled ranks 1, ..., m + 1.
const uncorrected = (metric, n, m) => sampledValues(metric, m);
const rankEstimate = (metric, n, m) =>
  tabulate(m + 1, (i) => metric(1 + Math.floor(((n - 1) * i) / m), n));

// What biases and variances depend on: means over all ranks of the probabilities P of the sampled
// ranks, of their products (the Gram matrix), of P times the exact metric, and of its square. They
// follow from the means for 2m draws: of i + j hits, i fall to the first m draws.
const problem = (metric, n, m) => {
  const exact = Float64Array.from({ length: n }, (_, r) => metric(r + 1, n));
  const p = new Float64Array(2 * m + 1), means = p.slice(), gains = p.slice();
  const up = p.map((_, h) => (2 * m - h) / (h + 1)); // odds of one more sample above, at even odds
  for (let r = 0; r <= (n - 1) / 2; r++) { // the other half has the same probabilities, reversed
    const last = 2 * m, mirror = n - 1 - r, both = +(r < mirror);
    const [low, high] = fillDistribution(p, r, n, up);
    for (let i = low; i <= high; i++) {
      means[i] += p[i];
      gains[i] += p[i] * exact[r];
      means[last - i] += both * p[i];
      gains[last - i] += both * p[i] * exact[mirror];
    }
  }
  const one = choose(m), two = choose(2 * m), split = (i, j) => (one[i] * one[j]) / two[i + j] / n;
  const gram = one.map((_, i) => Float64Array.from(one, (_, j) => split(i, j) * means[i + j]));
  const b = one.map((_, i) => sum(one.map((_, j) => split(i, j) * gains[i + j])));
  const c = exact.reduce((total, v) => total + v * v, 0) / n;
  return { m, gram, share: gram.map((row) => row.reduce((x, y) => x + y)), b, c };
};
const choose = (m) => {
  const ways = [1];
  for (let i = 1; i <= m; i++) ways.push((ways[i - 1] * (m - i + 1)) / i);
  return ways;
};
// The probabilities of so many samples above the rank r + 1, from the likeliest outward as far as
// they count; with few ranks, some sampled ranks live in the tails.
const fillDistribution = (p, r, n, up) => {
  const draws = p.length - 1, odds = r / (n - 1 - r), least = n > draws ? 1e-20 : 1e-70;
  let low = Math.floor((draws * r) / (n - 1)), high = low, total = (p[low] = 1);
  for (; high < draws && p[high] > least; high++) total += p[high + 1] = p[high] * up[high] * odds;
  for (; low > 0 && p[low] > least; low--) total += p[low - 1] = p[low] / (up[low - 1] * odds);
  for (let i = low; i <= high; i++) p[i] /= total;
  return [low, high];
};

// Equation 25 of Krichene & Rendle (2020), scaled to a symmetric matrix with eigenvalues from gamma
// to 1, by Cholesky's method.
const biasVariance = (gamma, { m, share, gram, b }) => {
  const scale = share.map((value) => 1 / Math.sqrt(value)), x = b.map((v, i) => v * scale[i]);
  const factor = gram.map((row) => row.slice());
  factor.forEach((row, i) => {
    for (let j = 0; j <= i; j++) {
      let rest = (1 - gamma) * scale[i] * scale[j] * row[j] + (i === j ? gamma : 0);
      const other = factor[j];
      for (let l = 0; l < j; l++) rest -= row[l] * other[l];
      row[j] = i === j ? Math.sqrt(rest) : rest / other[j];
    }
    for (let l = 0; l < i; l++) x[i] -= row[l] * x[l];
    x[i] /= row[i];
  });
  for (let i = m; i >= 0; i--) {
    for (let l = i + 1; l <= m; l++) x[i] -= factor[l][i] * x[l];
    x[i] /= factor[i][i];
  }
  return x.map((value, i) => value * scale[i]);
};

// Root mean squares over all ranks of the bias and the standard deviation of a table.
const averageError = (values, { share, gram, b, c }) => {
  const dot = (v, w) => v.reduce((total, x, i) => total + x * w[i], 0);
  const square = dot(values, gram.map((row) => dot(values, row)));
  return [square - 2 * dot(b, values) + c, dot(share, values.map((v) => v * v)) - square]
    .map((v) => Math.sqrt(Math.max(v, 0)));
};

// The highest mean of y of two points (or one) whose mean of x is `at`, and these points.
const hullAbove = (points, at) => {
  const most = (some, f) => some.reduce((a, b) => (f(b) > f(a) ? b : a));
  const height = (a, b) => a.y + (b.y - a.y) * ((at - a.x) / (b.x - a.x));
  const here = points.filter(({ x }) => x === at), left = points.filter(({ x }) => x < at);
  const right = points.filter(({ x }) => x > at), alone = here.length && most(here, ({ y }) => y);
  if (!left.length || !right.length) return [alone.y, [alone]];
  let b, next = most(right, ({ y }) => y), a;
  do [a, b] = [most(left, (c) => height(c, next)), next];
  while (height(a, (next = most(right, (c) => height(a, c)))) > height(a, b));
  return alone && alone.y >= height(a, b) ? [alone.y, [alone]] : [height(a, b), [a, b]];
};

const uniqueNumbers = (all) => [...new Set(Float64Array.from(all).sort())];

// Extremes of the exact metric if the sampled one is from `low` to `high`. `ranks` are looked at
// first; unless `finer` is false, also those between the ones that matter and their neighbors.
const extremes = ({ at, exact, least, largest, n }, ranks, low, high, finer = true) => {
  const side = +(low + high > least + largest); // digits are kept near both ends of the curve
  const ends = side ? [largest - high, largest - low] : [low - least, high - least];
  const first = uniqueNumbers(ranks.filter((r) => r <= n));
  return [-1, 1].map((sign) => {
    for (let some = first; ;) {
      const points = some.map((r, i) => ({ i, x: at(r)[side], y: sign * exact(r, n) }));
      const { x } = points.reduce((a, b) => (b.y > a.y ? b : a));
      const [y, mixed] = hullAbove(points, Math.min(Math.max(x, ends[0]), ends[1]));
      const gaps = mixed.flatMap(({ i }) => [i, i + 1]).filter((i) => some[i] - some[i - 1] > 1);
      if (!finer || !gaps.length) return sign * y || 0;
      some = uniqueNumbers([...some, ...gaps.flatMap((i) => tabulate(3, (j) =>
        Math.round(some[i] - ((j + 1) / 4) * (some[i] - some[i - 1]))))]);
    }
  });
};

// What a published sampled metric can mean, for several values and exact metrics: the package's
// explain(), with 95 percent confidence. For a drawing, a coarse look at the ranks is enough.
const explain = (metric, n, m, replacement) => {
  const values = sampledValues(metric, m), known = new Map();
  const [least, largest] = [Math.min(...values), Math.max(...values)];
  const offs = [values.map((v) => v - least), values.map((v) => largest - v)];
  const at = (rank) => { // how far its expected sampled metric is from both ends
    if (!known.has(rank)) {
      const p = rankDistribution(rank, n, m, replacement);
      known.set(rank, offs.map((off) => p.reduce((total, share, i) => total + share * off[i], 0)));
    }
    return known.get(rank);
  };
  const inside = (v) => Math.min(Math.max(v, least), largest);
  const variance = (v) => (largest - v) * (v - least);
  return (value, users, exact = metric, cutoff = n, { decimals = 4, finer = true } = {}) => {
    const slack = 0.5 * 10 ** -decimals, v = inside(value);
    if (Math.abs(v - value) > slack + 1e-9) return null;
    const low = inside(v - slack), high = inside(v + slack);
    const interval = [[low, -1.959963984540054], [high, 1.959963984540054]].map(([end, z]) => {
      const error = Math.hypot(Math.sqrt(variance(end) / users), (z * (largest - least)) / 2 / users);
      const shift = (z * z * ((least + largest) / 2 - end)) / users;
      return inside(end + (shift + z * error) / (1 + (z * z) / users));
    });
    const ranks = [...tabulate(32, (i) => i + 1), cutoff, cutoff + 1, n,
      ...tabulate(160, (i) => Math.round(32 * 1.25 ** i))];
    const range = (low, high, closely = finer) =>
      extremes({ at, exact, least, largest, n }, ranks, low, high, closely);
    return {
      bounds: range(low, high), boundsWithError: range(...interval), interval,
      standardError: Math.sqrt(variance(v) / users),
      // with the value itself, for curves that meet it; the last step can be a jump
      outline: () => uniqueNumbers([...[...tabulate(60, (i) => i / 60), 0.9999, 1]
        .map((share) => least + share * (largest - least)), v])
        .map((u) => [u, ...range(u, u, false)]),
    };
  };
};
const resembledCutoff = (k, n, m) => (n * Math.min(k, m + 1)) / (m + 1);

return {
  TOY, auc, averageError, averagePrecision, biasVariance, dialects, expectation, expectedMetric,
  explain, fromRecommendations, mean, meanAndVariance, ndcg, parseItems, problem, rankDistribution,
  rankEstimate, recall, reciprocalRank, resembledCutoff, sampledValues, tabulate, uncorrected,
};
})();
