// Check your own: printed numbers, or columns of ranks, and whether their order can be trusted.
(() => {
"use strict";
const M = sampledMetrics, E = explorers, { refuse, whole } = E;
const fixed = (value) => E.fixed(value, 4);
const Z = 1.959963984540054; // all intervals have a confidence of 95 percent

// --- reading ranks: a column for each recommender, or a table as Ranks.write makes it

const PLAIN = /^\d{1,15}(\.0*)?$/; // a whole number, also as pandas writes it beside missing ones
const SHOWN = 20_000; // letters; a longer text is kept beside the field, where it costs no layout
const clean = (name) => name.replace(/[^\p{L}\p{N} ._+@/-]/gu, "").trim().slice(0, 24) || "no name";

// A line in fields. What is quoted may hold a separator.
const cutBy = (separator) => {
  if (!separator) return (line) => line.trim().split(/\s+/);
  const field = RegExp(`(?:^|${separator})(?:"((?:[^"]|"")*)"|([^"${separator}]*))`, "g");
  return (line) => (line.includes('"')
    ? [...line.matchAll(field)].map(([, quoted, bare]) => quoted?.replaceAll('""', '"') ?? bare)
    : line.split(separator)).map((cell) => cell.trim());
};

// The problems of a text, each with its line: three of them, and how many more there are.
const problemsOf = () => {
  const found = [];
  let count = 0;
  return {
    add: (line, what) => { if ((count += 1) <= 3) found.push(`Line ${whole(line + 1)}: ${what}.`); },
    tell: () => count && refuse("ranks",
      `${found.join(" ")}${count > 3 ? ` And ${E.count(count - 3, "more line")}.` : ""}`),
  };
};

// Where everything stands in the lines, by their titles.
const layoutOf = (lines, start) => {
  const separator = ["\t", ";", ","].find((s) => lines[start].includes(s));
  const cut = cutBy(separator), head = cut(lines[start]);
  const named = head.some((cell) => /[^\d.]/.test(cell)), first = named ? start + 1 : start;
  if (!named && head.length > 2) {
    refuse("ranks", `Line ${start + 1} has ${head.length} numbers. Say in a line above it what the
      columns are, as in user,mine,other.`);
  }
  const titles = named ? head.map((cell) => cell.toLowerCase()) : [];
  const at = (...names) => titles.findIndex((title) => names.includes(title));
  const own = { user: at("user", "user_id", "userid", "uid", "id", "qid", ""), items: at("n_items"),
    catalog: at("catalog"), relevance: at("relevance") };
  for (const [title, why] of [["up_to", "the ranks are known up to there only"],
    ["weight", "some users count more than others"]]) {
    if (at(title) >= 0) refuse("ranks", `With ${title}, ${why}: evaluate in Python knows how.`);
  }
  const rank = at("rank");
  if (rank >= 0) {
    if (own.user < 0) refuse("ranks", "There is a column rank, and none that is called user.");
    return { ...own, cut, first, width: head.length, who: at("recommender"),
      columns: [{ rank, tied: at("n_tied") }] };
  }
  const example = cut(lines.slice(first).find((line) => line.trim()) ?? "");
  const names = named ? head.map((name) => name.replace(/_best$/, "")) : ["A", "B"];
  const columns = example.map((cell, rank) => ({ rank, name: clean(names[rank] ?? ""),
    tied: at(`${names[rank]}_tied`.toLowerCase(), `${names[rank]}_n_tied`.toLowerCase()) }))
    .filter(({ rank: c }) => (PLAIN.test(example[c]) || !example[c])
      && !Object.values(own).includes(c) && !/_tied$|^(item|item_id|group)$/.test(titles[c]));
  return { ...own, cut, first, width: head.length, who: -1, columns };
};

// The ranks of all recommenders in a text, by user.
async function parse(text, rest) {
  if (/^(PAR1|PK\x03)/.test(text)) refuse("ranks", "This is no text. Save the table as CSV.");
  const lines = text.replace(/^\ufeff/, "").split(/\r\n?|\n/);
  const start = lines.findIndex((line) => line.trim());
  if (start < 0) {
    refuse("ranks", "Ranks, please: a line for each user, and a column for each recommender.");
  }
  const { cut, first, width, who, columns, user, items, catalog, relevance } = layoutOf(lines, start);
  const all = new Map(), problems = problemsOf();
  const wholeIn = (i, cell, what, least = 1) => {
    if (PLAIN.test(cell) && +cell >= least) return +cell;
    problems.add(i, cell === "" ? `no ${what}` : +cell === 0
      ? `${what} 0; ranks count from 1: add 1 to all, if yours count from 0`
      : `“${clean(`${cell}`)}” is no ${what}`);
    return NaN;
  };
  for (let i = first; i < lines.length; i++) {
    if (i % 256 === 0) await rest();
    if (!lines[i].trim()) continue;
    const cells = cut(lines[i]);
    if (cells.length !== width) {
      problems.add(i, `${E.count(cells.length, "field")}, where the first line has ${width}`);
      continue;
    }
    if (relevance >= 0 && +cells[relevance] === 0) continue; // a user without relevant items
    const id = user < 0 ? `${i - first}` : cells[user];
    const n = items < 0 ? Infinity : wholeIn(i, cells[items], "n_items", 2);
    const of = catalog < 0 ? Infinity : wholeIn(i, cells[catalog], "catalog", 2);
    for (const { name, rank, tied } of columns) {
      const key = name ?? (who < 0 ? "ranks" : clean(cells[who]));
      if (!all.has(key)) {
        all.set(key, { at: new Map(), best: [], tied: [], n: [], catalog: [], lines: [] });
      }
      const rows = all.get(key), best = wholeIn(i, cells[rank], columns.length > 1 || who >= 0
        ? `rank of ${key}` : "rank");
      const level = tied < 0 ? 0 : wholeIn(i, cells[tied], "n_tied", 0);
      if (best + level > n) problems.add(i, `rank ${best + level} is above n_items, ${n}`);
      if (rows.at.has(id)) {
        problems.add(i, `user ${clean(id)} again. Here each user has one relevant item; evaluate in
          Python takes any number`);
      }
      rows.at.set(id, rows.best.push(best) - 1);
      rows.tied.push(level);
      rows.n.push(n);
      rows.catalog.push(of);
      rows.lines.push(i);
    }
  }
  problems.tell();
  for (const [name, { best }] of all) {
    if (best.length > 4 && best.every((rank, x) => !x || rank === best[x - 1] + 1)) {
      refuse("ranks", `The ranks of ${name} count up line by line. If these are the users, say so in a
        line above, as in user,mine.`);
    }
  }
  if (!all.size) refuse("ranks", "There is no column of ranks: whole numbers from 1.");
  return all;
}

// One or two of the recommenders, with the same users in the same order.
async function pick(all, wanted, rest) {
  const known = [...all.keys()];
  const listed = wanted.split(/[,;]/).filter((name) => name.trim()).map(clean);
  for (const name of listed) {
    if (!all.has(name)) refuse("columns", `There is no ${name}, only ${known.join(", ")}.`);
  }
  if (listed.length > 2) refuse("columns", "Two names, please.");
  const names = listed.length ? listed : known.slice(0, 2), problems = problemsOf();
  const [one, other = one] = names.map((name) => all.get(name)), order = [];
  for (const [id, i] of one.at) {
    if (i % 1024 === 0) await rest();
    if (!other.at.has(id)) problems.add(one.lines[i], `user ${clean(id)} has no rank of ${names[1]}`);
    order.push(other.at.get(id));
  }
  for (const [id, i] of other.at) {
    if (i % 1024 === 0) await rest();
    if (!one.at.has(id)) problems.add(other.lines[i], `user ${clean(id)} has no rank of ${names[0]}`);
  }
  problems.tell();
  if (order.length < 2) refuse("ranks", "Two users or more, please.");
  const same = (values) => (values.every((v) => v === values[0]) ? values[0] : values);
  const row = ({ best, tied, lines }) => ({ best, tied: tied.some(Boolean) ? tied : null, lines });
  const by = (values) => order.map((i) => values[i]);
  if (by(other.n).some((v, x) => v !== one.n[x])) {
    refuse("ranks", `${names.join(" and ")} differ in n_items: these are not the same users.`);
  }
  await rest();
  const rows = [row(one), row({ best: by(other.best), tied: by(other.tied), lines: by(other.lines) })];
  return { names, others: known.filter((name) => !names.includes(name)), ids: [...one.at.keys()],
    rows: rows.slice(0, names.length), n: same(one.n), catalog: same(one.catalog) };
}

// --- what the package computes: evaluate, compare, and the difference in explain

// The quantile of Student's distribution for 95 percent, by Newton's method from below. The first
// factor is the ratio of the two gamma functions, and the area is found by Simpson's rule.
const student = M.remember((df) => {
  let factor = df % 2 ? 1 / Math.sqrt(Math.PI) : Math.sqrt(Math.PI) / 2;
  for (let v = 2 - (df % 2); v < df; v += 2) factor *= (v + 1) / v;
  const density = (x) => (factor / Math.sqrt(df * Math.PI))
    * Math.exp((-(df + 1) / 2) * Math.log1p((x * x) / df));
  const area = (t, steps = 2000) => M.tabulate(steps + 1, (i) =>
    (i % steps ? 2 + 2 * (i % 2) : 1) * density((i * t) / steps))
    .reduce((a, b) => a + b) * (t / steps / 3);
  let t = Z;
  for (let i = 0; i < 20; i++) t += (0.475 - area(t)) / density(t);
  return t;
});

const endsOf = (values) => [Math.min, Math.max].map((most) =>
  values.reduce((a, b) => most(a, b)));

// Student's interval, as if two more users had come, with the lowest and the highest value.
const interval = (mean, error, size, [low, high], least = 0) => {
  const center = (size * mean + low + high) / (size + 2);
  const squares = size * (size - 1) * error ** 2 + size * (mean - center) ** 2
    + (low - center) ** 2 + (high - center) ** 2;
  const half = student(size + 1) * Math.sqrt(squares / ((size + 1) * (size + 2)));
  const inside = (v) => Math.min(Math.max(v, least), 1);
  return [inside(Math.min(center - half, mean)), inside(Math.max(center + half, mean))];
};

// The mean of the users' values and its standard error, to which ties and samples add their noise.
const summary = (each, noise) => {
  const size = each.length;
  let mean = 0, squares = 0, more = 0, largest = 0;
  for (let x = 0; x < size; x++) mean += each[x];
  mean /= size;
  for (let x = 0; x < size; x++) {
    squares += (each[x] - mean) ** 2;
    if (noise) more += noise[x];
    largest = Math.max(largest, Math.abs(each[x]));
  }
  const users = squares / size / (size - 1);
  return { mean, users, noise: more / size / size, error: Math.sqrt(users + more / size / size),
    clean: Math.abs(mean) > 1e-13 * largest ? mean : 0 }; // rounding has no sign
};

// Of each user the exact metric, and the mean and variance of the sampled one, over all ways to
// break ties: how far it is above its `offset`, so that what is the same for all leaves no rounding
// errors. For ranks among a sample (`m` of them), the mean is the metric as it was measured.
async function moments({ best, tied }, n, metric, m, replacement, isSample, rest) {
  const size = best.length, seen = M.sampledValues(metric, m), offset = isSample ? 0 : seen[0];
  const values = seen.map((v) => v - offset);
  const [exact, mean, noise] = M.tabulate(3, () => new Float64Array(size));
  const order = M.tabulate(size, (x) => x); // by the number of items, each of which is looked up once
  if (n.length) order.sort((x, y) => n[x] - n[y]);
  let items, of;
  for (let i = 0; i < size; i++) {
    if (i % 64 === 0) await rest();
    const x = order[i], last = best[x] + (tied?.[x] ?? 0), count = last - best[x] + 1;
    if (items !== (n[x] ?? n)) {
      items = n[x] ?? n;
      of = M.remember(isSample ? (rank) => [NaN, values[rank - 1], 0] : (rank) => {
        const among = M.distribution(rank, items, m, replacement, 1e-30);
        const center = M.average(values, among);
        return [metric(rank, items), center, M.variance(values, among, center)];
      });
    }
    for (let rank = best[x]; rank <= last; rank++) {
      const [own, center, spread] = of(rank);
      exact[x] += own / count;
      mean[x] += center / count;
      noise[x] += spread / count;
    }
    for (let rank = best[x]; count > 1 && !isSample && rank <= last; rank++) {
      noise[x] += (of(rank)[1] - mean[x]) ** 2 / count;
    }
  }
  return { exact, mean, noise, offset };
}

// The probability that one evaluation by sampling puts two in the order of their exact metrics: of
// new users, and of these.
const rightOrder = (one, other) => {
  const exact = summary(one.exact.map((v, x) => v - other.exact[x])).clean;
  const noise = one.noise.map((v, x) => v + other.noise[x]);
  const sampled = summary(one.mean.map((v, x) => v - other.mean[x]), noise);
  const lead = sampled.clean * Math.sign(exact);
  const chance = (error) => (exact && (lead || error) ? M.normalCdf(lead / error) : NaN);
  return { exact, sampled: sampled.clean, anew: chance(sampled.error),
    again: chance(Math.sqrt(sampled.noise)) };
};

// How two printed numbers differ. `beyond` chance is true, false, or null: not known.
const difference = (one, other, users, decimals) => {
  const value = one.value - other.value, gap = one.binary ? one.ends[1] - one.ends[0] : 0;
  const [v, w] = [one, other].map(({ value, interval }) =>
    [value - interval[0], interval[1] - value]);
  const ends = [value - Math.hypot(v[0], w[1]), value + Math.hypot(v[1], w[0])];
  const size = Math.abs(value) + 10 ** -decimals;
  const beyond = users * size <= Z ** 2 * (gap - size) ? false
    : ends[0] > 0 || ends[1] < 0 || null;
  const apart = ([low, high], [least, most]) => low > most || high < least;
  return { value, interval: ends, beyond, known: apart(one.bounds, other.bounds) };
};
Object.assign(M, { difference, interval, moments, parse, pick, rightOrder, student, summary });

// --- the drawing of ranks: how both metrics move with the number of samples

// The ranks of all users as weights on ranks that are one by one at first, and then a percent apart.
async function weightsOn(nodes, { best, tied }, n, most, rest) {
  const weights = new Float64Array(nodes.length);
  for (let x = 0; x < best.length; x++) {
    if (x % 256 === 0) await rest();
    const count = (tied?.[x] ?? 0) + 1, scale = (most - 1) / ((n[x] ?? n) - 1);
    for (let rank = best[x]; rank < best[x] + count; rank++) {
      const place = 1 + (rank - 1) * scale;
      let low = 0, high = nodes.length - 1;
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (nodes[middle] <= place) low = middle;
        else high = middle;
      }
      const part = (place - nodes[low]) / (nodes[high] - nodes[low]) / count / best.length;
      weights[low] += 1 / count / best.length - part;
      weights[high] += part;
    }
  }
  return weights;
}
async function curves(rows, n, metric, replacement, rest) {
  const most = n.length ? endsOf(n)[1] : n, nodes = [];
  for (let rank = 1; rank < most; rank = Math.max(rank + 1, Math.round(rank * 1.01))) nodes.push(rank);
  nodes.push(most);
  const weights = [], points = rows.map(() => []);
  for (const row of rows) weights.push(await weightsOn(nodes, row, n, most, rest));
  for (const m of E.spaced(1, Math.min(most - 1, 1e5), 45)) {
    const values = M.sampledValues(metric, m), means = rows.map(() => 0);
    for (let j = 0; j < nodes.length; j++) {
      if (j % 8 === 0) await rest();
      if (!weights.some((w) => w[j])) continue;
      const one = M.average(values, M.distribution(nodes[j], most, m, replacement, 1e-30));
      weights.forEach((w, i) => { means[i] += w[j] * one; });
    }
    means.forEach((mean, i) => points[i].push([m, mean]));
  }
  return points;
}
const percent = (v) => `${+(100 * v).toPrecision(3)} %`;
const TICKS = M.tabulate(6, (i) => [1, 0.5, 0.2].map((v) => +(v * 10 ** -i).toPrecision(1))).flat();
const drawCurves = ({ m, names, name, most, points, means }) => {
  const all = points.flat().map(([, v]) => v), high = Math.max(...all), low = Math.min(...all);
  const log = low > high / 1000, min = log ? low / 1.2 : 0, max = high * (log ? 1.2 : 1.05) || 1;
  const ticks = TICKS.filter((v) => v >= min && v <= max);
  return {
    at: m, atField: "m",
    x: { ...E.toRank(most, "sampled items, m (drag the dotted line); right: all"), name: "m" },
    y: { min, max, log, label: `${name} on average`, format: percent,
      ticks: log && ticks.filter((_, i) => ticks.length < 8 || i % 3 === 0)
        .map((v) => [v, percent(v)]) },
    lines: names.map((who, style) => ({ style, name: who, points: points[style] })),
    marks: names.map((_, style) => ({ style, x: m, y: means[style], field: "m" })),
  };
};

// The drawing of printed numbers: what each leaves open.
const drawBounds = ({ names, name, found }) => {
  const corner = (i, side, up) => [found[i].bounds[side], -i + up];
  const bar = (i) => [corner(i, 0, 0.14), corner(i, 1, 0.14), corner(i, 1, -0.14), corner(i, 0, -0.14)];
  return {
    height: 90 + 70 * names.length, small: 90 + 60 * names.length,
    x: { min: 0, max: 1, label: `exact ${name}: what each sampled number leaves open` },
    y: { min: 0.5 - names.length, max: 0.5, ticks: names.map((who, i) => [-i, who]) },
    bands: names.map((_, i) => [-i - 0.5, -i + 0.5]),
    area: names[1] ? [...bar(0), ...bar(1), corner(1, 0, 0.14), corner(0, 0, -0.14)] : bar(0),
    marks: names.flatMap((who, i) => [
      ...["lowest", "highest"].map((what, side) =>
        ({ style: i, x: found[i].bounds[side], y: -i, name: `${who}, exact, ${what}` })),
      { style: 3, x: found[i].value, y: -i, name: `${who}, sampled` }]),
  };
};

// --- words

const TONES = { "Order kept": "good", "Order turned": "bad", "Order lost": "bad" };
const UNTOLD = "Cannot be told from these numbers";
const span = ([low, high]) => `${fixed(low)} to ${fixed(high)}`;
const canBe = ([low, high]) => (fixed(low) === fixed(high) ? `is ${fixed(low)}`
  : `can be anything from ${span([low, high])}`);
const inHundred = (p) => (p > 0.995 ? "practically always" : p < 0.005 ? "practically never"
  : `in ${Math.round(100 * p)} of 100 evaluations`);
const nameOf = ({ metric, k }) => metric.replace("@k", `@${k}`);
const makeOf = ({ metric, k }) => {
  const [, make] = E.PUBLISHED[metric];
  return E.isCut(metric) ? make(k) : make();
};
const protocolOf = ({ n, m, replacement }) => `${E.count(m, "sampled item")} of ${whole(n)} (uniform, ${
  replacement ? "with" : "without"} replacement)`;
const rough = ({ metric, k, n, m }) => (E.isCut(metric) && k <= m
  ? `The top ${whole(k)} of ${whole(m + 1)} resembles the top ${
    whole(Math.round(M.resembledCutoff(k, n, m)))} of all ${whole(n)}: read the order there. ` : "");
const command = { "HR@k": "recall@", "NDCG@k": "ndcg@", "MRR@k": "rr@", NDCG: "ndcg", MRR: "rr",
  AUC: "auc" };
const commandOf = ({ metric, k }) => command[metric] + (E.isCut(metric) ? k : "");
const metricCode = ({ metric, k }) =>
  `${E.PUBLISHED[metric][0]}(${E.isCut(metric) ? `k=${k}` : ""})`;
const samples = ({ m, replacement }) => `--samples ${m}${replacement ? "" : " --without-replacement"}`;
const importCode = (form, ...names) =>
  `from sampled_metrics import ${[E.PUBLISHED[form.metric][0], ...names].sort().join(", ")}`;
const drawCode = ({ m, n, replacement }) => `Draw(${m}, ${
  n ? `n_items=${n}, ` : ""}replacement=${replacement ? "True" : "False"})`;

// --- printed numbers

const explainOf = E.keepLast((metric, k, n, m, replacement) =>
  M.explain(makeOf({ metric, k }), n, m, replacement));
const explained = ({ metric, k, n, m, replacement }, value, users, decimals) => {
  const cut = E.isCut(metric) ? Math.min(k, n) : n;
  return explainOf(metric, k, n, m, replacement)(value, users || 1, makeOf({ metric, k }), cut,
    { decimals });
};

const ofNumbers = (form, names, values, users, decimals, paired = "") => {
  const found = values.map((v) => explained(form, v, users, decimals)), name = nameOf(form);
  const pair = names[1] && difference(...found, users, decimals);
  const told = pair?.known && (!users || pair.beyond), level = pair && !pair.value;
  const [low, high] = found[0].bounds;
  const open = names.map((who, i) => `exact ${name}${pair ? ` of ${who}` : ""} ${
    canBe(found[i].bounds)}`).join(", and ");
  const chance = !users ? "" : `With ${E.count(users, "user")} and 95 percent confidence, that is ${
    names.map((who, i) => `${span(found[i].boundsWithError)}${pair ? ` for ${who}` : ""}`)
      .join(" and ")}. `;
  const ways = !pair || level || pair.known ? "" : "Either can be the better one. ";
  const apart = !users || !pair || level || paired ? "" : {
    true: `That the sampled numbers differ by ${fixed(pair.value)} is more than chance, but it is a
      difference of sampled metrics. `,
    false: "The two numbers differ by no more than chance explains. ",
    null: "Whether their difference is chance depends on the single users. ",
  }[pair.beyond];
  const verdict = level ? "The numbers are equal" : pair ? (told ? "Order kept" : UNTOLD)
    : `Says ${low < high / 2 ? "little" : low < 0.95 * high ? "something" : "much"} about the exact ${
      name}`;
  return {
    verdict, tone: TONES[verdict] ?? (!pair && low >= 0.95 * high ? "good" : "open"), found,
    sentence: `Chance aside, ${open}. ${ways}${chance}${apart}${paired}${rough(form)}`
      .replace(/\s+/g, " ").trim(),
    plot: drawBounds({ names, name, found }),
    rows: [["exact, chance aside", ...found.map(({ bounds }) => span(bounds)), ""],
      ...(users ? [["exact, 95 %", ...found.map((one) => span(one.boundsWithError)), ""]] : [])],
    paper: `${name} was computed among ${protocolOf(form)}, not among all items: ${
      names.map((who, i) => `a sampled ${name} of ${+values[i].toFixed(Math.min(decimals, 4))}${
        pair ? ` (${who})` : ""} allows an exact one of ${span(found[i].bounds)}`).join(", and ")}${
      pair && !level ? `. The order of the two ${told ? "is that of the exact metric"
        : "cannot be told from this"}` : ""}.`,
    command: `sampled-metrics explain ${commandOf(form)} ${values[0].toFixed(decimals)}${
      pair ? ` --other ${values[1].toFixed(decimals)}` : ""} --items ${form.n} ${samples(form)}${
      users ? ` --users ${users}` : ""}`,
    code: `explain(
    ${metricCode(form)}, ${values[0].toFixed(decimals)}, ${drawCode(form)},
    ${users ? `n_users=${users}, ` : ""}${pair ? `other=${values[1].toFixed(decimals)}, ` : ""
}decimals=${decimals},
)`,
  };
};

const showNumbers = (form) => {
  const texts = ["a", "b"].filter((field) => form[field].trim());
  if (!form.a.trim()) refuse("a", "A number from the paper, please, such as 0.66.");
  const values = texts.map((field) => E.shareOf(form[field], field));
  const decimals = Math.max(...texts.map((field) => E.decimalsOf(form[field])));
  const users = +form.users.replace(/[ ,_]/g, "");
  if (!Number.isInteger(users) || users < 0) {
    refuse("users", "A whole number, or nothing if the paper does not say.");
  }
  const names = ["A", "B"].slice(0, values.length), name = nameOf(form);
  texts.forEach((field, i) => {
    if (explained(form, values[i], users, decimals)) return;
    const seen = M.sampledValues(makeOf(form), form.m);
    refuse(field, `With m = ${whole(form.m)}, sampled ${name} is from ${
      E.fixed(Math.min(...seen))} to ${E.fixed(Math.max(...seen))}.`);
  });
  const found = ofNumbers(form, names, values, users, decimals);
  const pair = names[1] && difference(...found.found, users, decimals);
  return { ...found, names, rows: [["sampled", ...values.map((v) => v.toFixed(decimals)),
    pair ? fixed(pair.value) : ""],
  ...(users ? [["its 95 % interval", ...found.found.map((one) => span(one.interval)),
    pair ? span(pair.interval) : ""]] : []), ...found.rows],
  python: `${importCode(form, "Draw", "explain")}

print(${found.code})
` };
};

// --- ranks

let kept = {}, drawn = {}, last; // the text that was read, the curves, and what can be saved
async function tableOf({ ranks, columns }, rest) {
  if (kept.ranks !== ranks) kept = { ranks, all: await parse(ranks, rest) };
  if (kept.columns !== columns) {
    Object.assign(kept, { columns, table: await pick(kept.all, columns, rest) });
  }
  return kept.table;
}

const listed = (values) => (values.length ? `[${values.join(", ")}]` : values);
const ranksCode = ({ names, rows, n, catalog, ids }) => (ids.length > 20
  ? `ranks = Ranks.read("ranks.csv")  # the file that "Save as ranks.csv" made\n`
  : `ranks = {\n${names.map((who, i) => `    "${who}": Ranks(
        ${listed(rows[i].best)},
        ${rows[i].tied ? `n_tied=${listed(rows[i].tied)}, ` : ""}n_items=${listed(n)},${
  catalog ? ` catalog=${catalog},` : ""}
    ),\n`).join("")}}\n`);
const csvOf = ({ names, rows, n, catalog, ids }) => {
  const quote = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const head = `recommender,user,rank,n_tied,n_items${catalog ? ",catalog" : ""}`;
  return `${[head, ...names.flatMap((who, i) => ids.map((id, x) =>
    `${quote(who)},${quote(id)},${rows[i].best[x]},${rows[i].tied?.[x] ?? 0},${n[x] ?? n}${
      catalog ? `,${catalog}` : ""}`))].join("\n")}\n`;
};

const checkRanks = (rows, n, field, what) => {
  const problems = problemsOf(), above = [];
  for (const { best, tied, lines } of rows) {
    best.forEach((rank, x) => {
      const worst = rank + (tied?.[x] ?? 0);
      if (worst > (n[x] ?? n)) above.push([lines[x], worst, n[x] ?? n]);
    });
  }
  above.sort(([a], [b]) => a - b);
  for (const [line, worst, most] of above) {
    problems.add(line, `rank ${whole(worst)} is above ${what}, ${whole(most)}`);
  }
  problems.tell();
};

// What was measured for each of one or two: the value, and the interval of it and of the difference.
const measured = (columns, ends) => {
  const size = columns[0].length;
  const each = columns.map((column) => summary(column));
  const around = each.map(({ mean, error }) => interval(mean, error, size, ends));
  const apart = columns[1] && summary(columns[0].map((v, x) => v - columns[1][x]));
  const range = ends[1] - ends[0];
  const between = apart && interval(apart.clean, apart.error, size, [-range, range], -1);
  return { each, around, apart, between, sure: apart && (between[0] > 0 || between[1] < 0),
    rows: (what) => [[what, ...each.map(({ mean }) => fixed(mean)), apart ? fixed(apart.clean) : ""],
      ["its 95 % interval", ...around.map(span), apart ? span(between) : ""]] };
};

async function showSampled(form, table, rest) {
  const { names, rows } = table, users = rows[0].best.length, { m, n, replacement } = form;
  checkRanks(rows, m + 1, "m", "m + 1");
  const metric = makeOf(form), ends = endsOf(M.sampledValues(metric, m)), means = [];
  for (const row of rows) {
    means.push((await moments(row, m + 1, metric, m, replacement, true, rest)).mean);
  }
  const seen = measured(means, ends);
  const values = seen.each.map(({ mean }) => +mean.toFixed(6));
  const found = ofNumbers(form, names, values, users, 6, seen.apart && `Measured user by user, the
    sampled difference is ${fixed(seen.apart.clean)}, from ${span(seen.between)}. `);
  const verdict = found.verdict === "Order kept" && !seen.sure ? UNTOLD : found.verdict;
  last = { ...table, n: m + 1, catalog: n };
  return { ...found, verdict, tone: verdict === UNTOLD ? "open" : found.tone, names,
    rows: [...seen.rows("as sampled"), ...found.rows],
    command: `# with the file that "Save as ranks.csv" makes
sampled-metrics evaluate ranks.csv --metrics ${commandOf(form)}
sampled-metrics compare ranks.csv --metrics ${commandOf(form)}
${found.command}`,
    python: `import pandas as pd
${importCode(form, "Draw", "Ranks", "Uncorrected", "evaluate", "explain")}

pd.set_option("display.width", 200, "display.max_columns", None)
${ranksCode(last)}found = evaluate(
    ranks, [${metricCode(form)}], estimators={"uncorrected": Uncorrected()}
)
print(found.table)
${names[1] ? "print(found.comparisons())\n" : ""}print(${found.code})
` };
}

const ROUND = [20, 50, 100, 200, 500, 1000]; // usual numbers of sampled items

async function showExact(form, table, rest) {
  const { names, rows } = table, users = rows[0].best.length, { m, k, replacement } = form;
  const n = table.n === Infinity ? form.n : table.n, name = nameOf(form), metric = makeOf(form);
  const [fewest, most] = endsOf(n.length ? n : [n]);
  if (table.n === Infinity) checkRanks(rows, n, "n", "n");
  if (m >= fewest - 1) {
    refuse("m", `At most n − 2 = ${whole(fewest - 2)}: who draws more has ranked all.`);
  }
  const every = [];
  for (const row of rows) every.push(await moments(row, n, metric, m, replacement, false, rest));
  const exact = measured(every.map((one) => one.exact), [0, 1]);
  await rest();
  const ends = endsOf(M.sampledValues(metric, m));
  const expected = every.map(({ mean, noise, offset }) => {
    const found = summary(mean, noise);
    return { ...found, mean: found.mean + offset };
  });
  await rest();
  const order = names[1] && rightOrder(...every);
  await rest();
  const key = `${name} ${n.length || n} ${replacement}`;
  if (drawn.key !== key || drawn.table !== table) {
    drawn = { key, table, points: await curves(rows, n, metric, replacement, rest) };
  }
  last = { ...table, n, catalog: undefined };
  const one = { ...form, n: n.length ? 0 : n };
  const bounds = expected.map(({ mean }) => (n.length ? ""
    : span(explained(one, +mean.toFixed(6), users, 6).bounds)));
  const [a, b] = exact.each, times = +(expected[0].mean / a.mean).toPrecision(2);
  const alone = a.mean ? `Sampled: ${times} times the exact value` : "Exactly 0";
  const verdict = !order ? alone : !order.exact ? "Exactly level"
    : !order.sampled ? "Order lost" : order.exact * order.sampled < 0 ? "Order turned"
      : order.again < 0.95 ? "Order kept on average" : "Order kept";
  const often = order ? [order.again, order.anew].map(inHundred) : [];
  const ahead = (difference) => (difference > 0 ? names[0] : names[1]);
  const among = n.length ? `${whole(fewest)} to ${whole(most)}` : whole(n);
  const values = (each) => names.map((who, i) => `${fixed(each[i].mean)}${
    order ? ` for ${who}` : ""}`).join(" and ");
  const lost = E.isCut(form.metric) && k > m
    ? ` Each item is in the top ${whole(k)} of ${whole(m + 1)}.` : "";
  const few = users > 19 && fewest > 10 * (m + 1)
    && rows.every(({ best }) => best.every((rank) => rank <= m + 1)); // as if they were sampled ranks
  const round = fewest === most && ROUND.some((count) => most - count === 0 || most - count === 1);
  const looks = !few && !round ? "" : ` ${few ? `No rank is above ${whole(m + 1)}` : `All users have ${
    whole(most)} items, a round number`}: if these are ranks among a sample, say so above.`;
  const sentence = `Exact ${name} is ${values(exact.each)} among all ${among} items. ${
    E.count(m, "sampled item")} would give ${values(expected)} on average. ${!order || !order.exact ? ""
    : !order.sampled ? `That is no order at all.${lost} `
    : `The right order, ${ahead(order.exact)} first, comes out ${
      often[0] === often[1] ? `${often[0]}, for these users and for as many new ones`
        : `${often[0]} for these users, and ${often[1]} for as many new ones`}. `}${
    order?.exact && !exact.sure ? `With ${E.count(users, "user")}, the exact difference itself may
      be chance: its interval includes 0. ` : ""}${looks}${
    table.others.length ? ` Not looked at: ${table.others.join(", ")}.` : ""}`;
  const [own, other] = exact.around.map(span);
  return { verdict, tone: TONES[verdict] ?? "open", names,
    sentence: sentence.replace(/\s+/g, " ").trim(),
    plot: drawCurves({ m, names, name, points: drawn.points, most: Math.min(most - 1, 1e5),
      means: expected.map(({ mean }) => mean) }),
    rows: [...exact.rows("exact"),
      [`among ${whole(m)}, expected`, ...expected.map(({ mean }) => fixed(mean)),
        order ? fixed(order.sampled) : ""],
      ["its 95 % interval", ...expected.map(({ mean, error }) =>
        span(interval(mean, error, users, ends))), ""],
      ["what that leaves open", ...bounds, ""],
      ...(order ? [["right order, new users", "", "", fixed(order.anew)],
        ["right order, these users", "", "", fixed(order.again)]] : [])],
    paper: `All ${among} items were ranked for ${whole(users)} users: ${name} is ${
      fixed(a.mean)} (95 % interval ${own})${order ? ` for ${names[0]} and ${fixed(b.mean)} (${
      other}) for ${names[1]}; the difference, ${
      fixed(exact.apart.clean)}, has the interval ${span(exact.between)}` : ""}.${
      rows.some(({ tied }) => tied) ? " Ties count as the mean over all ways to break them." : ""}`,
    command: `# with the file that "Save as ranks.csv" makes
sampled-metrics evaluate ranks.csv --metrics ${commandOf(form)} ${samples(form)}${
      order ? `
sampled-metrics compare ranks.csv --metrics ${commandOf(form)}
sampled-metrics compare ranks.csv --metrics ${commandOf(form)} ${samples(form)}` : ""}`,
    python: `import pandas as pd
${importCode(form, "Draw", "Ranks", "Uncorrected", "evaluate", ...(n.length ? [] : ["explain"]))}

pd.set_option("display.width", 200, "display.max_columns", None)
${ranksCode(last)}metric = ${metricCode(form)}
found = evaluate(
    ranks, [metric], ${drawCode({ m, replacement })},
    estimators={"uncorrected": Uncorrected()},
)
print(found.table)
${order ? `print(found.comparisons())  # of the exact metric
print(found.orders())  # what an evaluation by sampling would say
` : ""}${n.length ? "" : `for value in found.table["value"][found.table["estimator"] == "uncorrected"]:
    whole = ${drawCode({ m, n, replacement })}
    print(explain(metric, round(value, 6), whole, decimals=6).bounds)
`}` };
}

async function showRanks(form, rest) {
  const table = await tableOf(form, rest), isSample = table.catalog !== Infinity;
  if (!isSample && form.input !== "sampled") return showExact(form, table, rest);
  if (table.n.length || table.catalog.length) {
    refuse("ranks", `Users differ in n_items or catalog. This page takes one of each; use evaluate in
      Python.`);
  }
  const more = isSample ? { n: table.catalog, m: table.n - 1 } : {};
  if (isSample && !(more.m < more.n - 1)) refuse("ranks", "n_items must be below catalog.");
  checkCut({ ...form, ...more });
  return showSampled({ ...form, ...more }, table, rest);
}

const checkCut = ({ metric, k, n, m }) => {
  if (m >= n - 1) refuse("m", `At most n − 2 = ${whole(n - 2)}: who draws more has ranked all.`);
  if (metric === "HR@k" && k > m) {
    refuse("k", `Among ${whole(m + 1)} items each is in the top ${whole(k)}: at most ${whole(m)}.`);
  }
};
let python;
async function show(form, data, rest) {
  if (form.input === "numbers") checkCut(form);
  const found = await (form.input === "numbers" ? showNumbers(form) : showRanks(form, rest));
  ({ python } = found);
  const { names } = found, head = [nameOf(form), ...(names[1] ? [...names, "difference"] : names)];
  return { ...found, plots: [found.plot], texts: [found.paper, found.command],
    tables: [[head, ...found.rows.map((row) => row.slice(0, head.length))]] };
}

// --- controls

const RANKS = `user,mine,other
1,4,150
2,9,220
3,2,90
4,2100,310
5,1800,60
6,950,180
7,2600,240
8,1400,120`;
const TOY = `A,C
${M.TOY.A.map((rank, i) => `${rank},${M.TOY.C[i]}`).join("\n")}`;
const TABLE = `recommender,user,rank,n_items
${["mine", "other"].map((who, j) => RANKS.split("\n").slice(1).map((line) => line.split(","))
    .map((cells) => `${who},${cells[0]},${cells[j + 1]},3706`).join("\n")).join("\n")}`;
const SAMPLE = `user,mine,other
${[[1, 3], [1, 5], [1, 2], [60, 9], [48, 2], [27, 6], [71, 7], [39, 4]]
    .map((pair, i) => `${i + 1},${pair.join(",")}`).join("\n")}`;

const USUAL = { metric: "HR@k", k: 10, n: 3706, m: 100 };

const field = (name, label, value, mode) =>
  `<div><label>${label} ${E.textIn(name, label, value, mode)}</label></div>`;
const wide = (control) => control.replace("<div", '<div class="wide"');
const titled = (text, title) =>
  RegExp(`(^|[,;\\t])${title}([,;\\t]|\\s*$)`).test(text.trimStart().split(/[\r\n]/, 1)[0]);

// What was pasted or dropped: short texts go into the field, long ones beside it.
const wire = (form) => {
  const { ranks, input } = form.elements, [file] = form.querySelectorAll("[type=file]");
  const free = () => {
    ranks.held = undefined;
    ranks.readOnly = false;
    file.value = "";
  };
  const take = (text, name) => {
    free();
    if (text.length <= SHOWN) ranks.value = text;
    else {
      ranks.held = text;
      ranks.readOnly = true;
      ranks.value = `${name}: ${whole(text.split("\n").length)} lines, kept beside this field.
${text.slice(0, 200).split("\n").slice(0, 4).join("\n")} ...`;
    }
    if (input.value === "numbers") input.value = "ranks";
    ranks.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const open = async ([one]) => one && take(await one.text(), one.name);
  ranks.addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text");
    if (text.length <= SHOWN) return;
    event.preventDefault();
    take(text, "What you pasted");
  });
  file.addEventListener("input", (event) => event.stopPropagation());
  file.addEventListener("change", () => open(file.files));
  form.querySelector(".presets").addEventListener("change", free);
  form.addEventListener("reset", free);
  form.querySelector(".clear").addEventListener("click", () => {
    take("", "");
    ranks.focus();
  });
  form.querySelector(".save").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csvOf(last)], { type: "text/csv" }));
    link.download = "ranks.csv";
    link.click();
    URL.revokeObjectURL(link.href);
  });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    open(event.dataTransfer.files);
  });
};

E.add("check", {
  controls: wide(E.select("input", "what you have", [["numbers", "one or two printed numbers"],
    ["ranks", "ranks among all items"], ["sampled", "ranks among a sample"]]))
    + field("a", "number A", "0.66", "decimal") + field("b", "number B, if any", "0.61", "decimal")
    + `<div class="wide"><label>ranks, which stay in this browser <textarea name="ranks" rows="8"
      spellcheck="false" autocapitalize="off" wrap="off">${RANKS}</textarea></label>
      <label>or a file, which you can also drop here <input type="file"
      accept=".csv,.tsv,.txt,text/*"></label><div class="actions"><button type="button"
      class="clear">Clear</button><button type="button" class="save">Save as ranks.csv</button></div>
      </div>`
    + wide(field("columns", "which two, if there are more", "", "text"))
    + E.select("metric", "metric", Object.keys(E.PUBLISHED).map((name) =>
      [name, name === "HR@k" ? "HR@k, Recall@k" : name]))
    + E.number("k", "its cutoff k", 10, 1, 1000)
    + field("users", "users, if known", "6040", "numeric") + E.number("n", "n, all items", 3706, 3, 1e8)
    + E.number("m", "m, sampled items", 100, 1, 1e5, 120)
    + E.check("replacement", "with replacement", false),
  presets: [
    ["One printed number", { ...USUAL, input: "numbers", a: "0.66", b: "" }],
    ["Two printed numbers", { ...USUAL, input: "numbers", a: "0.66", b: "0.61" }],
    ["Two columns of ranks", { ...USUAL, input: "ranks", ranks: RANKS, columns: "" }],
    ["The toy example of the book",
      { input: "ranks", ranks: TOY, columns: "", metric: "MRR", n: 10000, m: 99 }],
    ["A table of ranks, from Ranks.write",
      { ...USUAL, input: "ranks", ranks: TABLE, columns: "", metric: "NDCG@k" }],
    ["Ranks among a sample", { ...USUAL, input: "sampled", ranks: SAMPLE, columns: "" }],
  ],
  idle: ({ input, ranks, metric }) => [
    ...(input === "numbers" ? ["ranks", "columns"] : ["a", "b", "users"]),
    ...(input !== "numbers" && titled(ranks, "n_items") && input === "ranks" ? ["n"] : []),
    ...(input !== "numbers" && titled(ranks, "catalog") ? ["n", "m"] : []),
    ...(E.isCut(metric) ? [] : ["k"])],
  secret: true,
  tables: ["Your numbers"],
  texts: ["A sentence for the paper", "On the command line"],
  python: () => python,
  wire,
  show,
});
})();
