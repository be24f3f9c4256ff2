// Check your own: printed numbers, or columns of ranks, and whether their order can be trusted.
(() => {
"use strict";
const M = sampledMetrics, E = explorers, { count, nameOf, refuse, whole } = E;
const fixed = (value) => E.fixed(value, 4), span = (ends) => E.span(ends, 4);

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

// Of the problems of a text, pairs of a line and a complaint, the first three, and how many more.
const tell = (problems) => {
  if (!problems.length) return;
  const told = problems.sort(([a], [b]) => a - b).slice(0, 3)
    .map(([line, what]) => `Line ${whole(line + 1)}: ${what}.`);
  const more = problems.length - told.length;
  refuse("ranks", [...told, ...(more ? [`And ${count(more, "more line")}.`] : [])].join(" "));
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

// The ranks in a text: of each recommender, a row for each user.
async function parse(text, rest) {
  if (/^(PAR1|PK\x03)/.test(text)) refuse("ranks", "This is no text. Save the table as CSV.");
  const lines = text.replace(/^\ufeff/, "").split(/\r\n?|\n/);
  const start = lines.findIndex((line) => line.trim());
  if (start < 0) {
    refuse("ranks", "Ranks, please: a line for each user, and a column for each recommender.");
  }
  const { cut, first, width, who, columns, user, items, catalog, relevance } = layoutOf(lines, start);
  const all = new Map(), problems = [], isAlone = columns.length < 2 && who < 0;
  const wholeIn = (line, cell, what, least = 1) => {
    if (PLAIN.test(cell) && +cell >= least) return +cell;
    problems.push([line, cell === "" ? `no ${what}` : +cell === 0
      ? `${what} 0; ranks count from 1: add 1 to all, if yours count from 0`
      : `“${clean(cell)}” is no ${what}`]);
    return NaN;
  };
  for (let line = first; line < lines.length; line++) {
    if (line % 256 === 0) await rest();
    if (!lines[line].trim()) continue;
    const cells = cut(lines[line]);
    if (cells.length !== width) {
      problems.push([line, `${count(cells.length, "field")}, where the first line has ${width}`]);
      continue;
    }
    if (relevance >= 0 && +cells[relevance] === 0) continue; // a user without relevant items
    const id = user < 0 ? `${line - first}` : cells[user];
    const n = items < 0 ? Infinity : wholeIn(line, cells[items], "n_items", 2);
    const of = catalog < 0 ? Infinity : wholeIn(line, cells[catalog], "catalog", 2);
    for (const { name = who < 0 ? "ranks" : clean(cells[who]), rank, tied: level } of columns) {
      const best = wholeIn(line, cells[rank], isAlone ? "rank" : `rank of ${name}`);
      const tied = level < 0 ? 0 : wholeIn(line, cells[level], "n_tied", 0);
      if (best + tied > n) problems.push([line, `rank ${best + tied} is above n_items, ${n}`]);
      const rows = all.get(name) ?? all.set(name, new Map()).get(name);
      if (rows.has(id)) {
        problems.push([line, `user ${clean(id)} again. Here each user has one relevant item; evaluate
          in Python takes any number`]);
      }
      rows.set(id, { line, best, tied, n, catalog: of });
    }
  }
  tell(problems);
  for (const [name, rows] of all) {
    const ranks = [...rows.values()].map(({ best }) => best);
    if (ranks.length > 4 && ranks.every((rank, x) => !x || rank === ranks[x - 1] + 1)) {
      refuse("ranks", `The ranks of ${name} count up line by line. If these are the users, say so in a
        line above, as in user,mine.`);
    }
  }
  if (!all.size) refuse("ranks", "There is no column of ranks: whole numbers from 1.");
  return all;
}

// One or two of the recommenders, as columns with the same users in the same order. What is the same
// for all users is one number.
const pick = E.keepLast((all, wanted) => {
  const known = [...all.keys()];
  const listed = wanted.split(/[,;]/).filter((name) => name.trim()).map(clean);
  for (const name of listed) {
    if (!all.has(name)) refuse("columns", `There is no ${name}, only ${known.join(", ")}.`);
  }
  if (listed.length > 2) refuse("columns", "Two names, please.");
  const names = listed.length ? listed : known.slice(0, 2);
  const tables = names.map((name) => all.get(name)), ids = [...tables[0].keys()];
  tell(tables.flatMap((own) => names.flatMap((name) => [...own]
    .filter(([id]) => !all.get(name).has(id))
    .map(([id, { line }]) => [line, `user ${clean(id)} has no rank of ${name}`]))));
  if (ids.length < 2) refuse("ranks", "Two users or more, please.");
  const columns = tables.map((rows) => ids.map((id) => rows.get(id))), [one, other = one] = columns;
  if (one.some(({ n }, x) => n !== other[x].n)) {
    refuse("ranks", `${names.join(" and ")} differ in n_items: these are not the same users.`);
  }
  const same = (values) => (values.every((v) => v === values[0]) ? values[0] : values);
  return { names, others: known.filter((name) => !names.includes(name)), ids,
    rows: columns.map((rows) => ({ lines: rows.map(({ line }) => line),
      best: rows.map(({ best }) => best), tied: rows.map(({ tied }) => tied) })),
    n: same(one.map(({ n }) => n)), catalog: same(one.map((row) => row.catalog)) };
});

// --- what the package computes: evaluate, compare, and the difference in explain

// The quantile of Student's distribution for 95 percent, by Newton's method from below. The first
// factor is the ratio of the two gamma functions, and the area is found by Simpson's rule.
const student = M.remember((df) => {
  let factor = df % 2 ? 1 / Math.sqrt(Math.PI) : Math.sqrt(Math.PI) / 2;
  for (let v = 2 - (df % 2); v < df; v += 2) factor *= (v + 1) / v;
  const density = (x) => (factor / Math.sqrt(df * Math.PI))
    * Math.exp((-(df + 1) / 2) * Math.log1p((x * x) / df));
  const area = (t, steps = 2000) => (t / steps / 3) * M.sum(M.tabulate(steps + 1, (i) =>
    (i % steps ? 2 + 2 * (i % 2) : 1) * density((i * t) / steps)));
  let t = M.Z;
  for (let i = 0; i < 20; i++) t += (0.475 - area(t)) / density(t);
  return t;
});

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
const summary = (each, noise = []) => {
  const size = each.length, mean = M.sum(each) / size, drawn = M.sum(noise) / size ** 2;
  const users = M.sum(each.map((v) => (v - mean) ** 2)) / size / (size - 1);
  const [, largest] = M.endsOf(each.map(Math.abs));
  return { mean, noise: drawn, error: Math.sqrt(users + drawn),
    clean: Math.abs(mean) > 1e-13 * largest ? mean : 0 }; // rounding has no sign
};

// Of each user the exact metric, and the mean and variance of the sampled one, over all ways to
// break ties: how far it is above its `offset`, so that what is the same for all leaves no rounding
// errors.
async function moments({ best, tied }, n, metric, m, replacement, rest) {
  const seen = M.sampledValues(metric, m), [offset] = seen, values = seen.map((v) => v - offset);
  const known = M.remember((items) => M.remember((rank) => {
    const among = M.distribution(rank, items, m, replacement, 1e-30);
    const center = M.average(values, among);
    return { own: metric(rank, items), center, spread: M.variance(values, among, center) };
  }));
  const mixed = (ways) => {
    const center = M.mean(ways.map((one) => one.center));
    return { own: M.mean(ways.map(({ own }) => own)), center,
      spread: M.mean(ways.map((one) => one.spread + (one.center - center) ** 2)) };
  };
  const [exact, mean, noise] = M.tabulate(3, () => new Float64Array(best.length));
  for (let x = 0; x < best.length; x++) {
    if (x % 64 === 0) await rest();
    const of = known(n[x] ?? n), { own, center, spread } = tied[x]
      ? mixed(M.tabulate(tied[x] + 1, (i) => of(best[x] + i))) : of(best[x]);
    [exact[x], mean[x], noise[x]] = [own, center, spread];
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
  const value = one.value - other.value, size = Math.abs(value) + 10 ** -decimals;
  const [down, up] = [[one, other], [other, one]].map(([a, b]) =>
    Math.hypot(a.value - a.interval[0], b.interval[1] - b.value));
  const ends = [value - down, value + up], gap = one.binary ? one.ends[1] - one.ends[0] : 0;
  const beyond = users * size <= M.Z ** 2 * (gap - size) ? false : ends[0] > 0 || ends[1] < 0 || null;
  const [[low, high], [least, most]] = [one.bounds, other.bounds];
  return { value, interval: ends, beyond, known: low > most || high < least };
};
Object.assign(M, { difference, interval, moments, rightOrder, student });

// --- the drawing of ranks: how both metrics move with the number of samples

// Ranks above a hundred count as the nearest of some that are a percent apart.
const nearly = (rank) =>
  (rank < 100 ? Math.round(rank) : Math.round(1.01 ** Math.round(Math.log(rank) / Math.log(1.01))));
async function curves(rows, n, metric, replacement, rest) {
  const most = M.endsOf([n].flat())[1], weights = rows.map(() => new Map());
  for (const [i, { best, tied }] of rows.entries()) {
    for (let x = 0; x < best.length; x++) {
      if (x % 256 === 0) await rest();
      const scale = (most - 1) / ((n[x] ?? n) - 1), share = 1 / (tied[x] + 1) / best.length;
      for (let rank = best[x]; rank <= best[x] + tied[x]; rank++) {
        const place = Math.min(nearly(1 + (rank - 1) * scale), most);
        weights[i].set(place, (weights[i].get(place) ?? 0) + share);
      }
    }
  }
  const places = E.unique(weights.flatMap((own) => [...own.keys()])), points = rows.map(() => []);
  for (const m of E.spaced(1, Math.min(most - 1, 1e5), 45)) {
    const values = M.sampledValues(metric, m), means = rows.map(() => 0);
    for (const [j, place] of places.entries()) {
      if (j % 8 === 0) await rest();
      const one = M.average(values, M.distribution(place, most, m, replacement, 1e-30));
      weights.forEach((own, i) => { means[i] += (own.get(place) ?? 0) * one; });
    }
    means.forEach((mean, i) => points[i].push([m, mean]));
  }
  return points;
}
const percent = (v) => `${+(100 * v).toPrecision(3)} %`;
const TICKS = M.tabulate(6, (i) => [1, 0.5, 0.2].map((v) => +(v * 10 ** -i).toPrecision(1))).flat();
const drawCurves = ({ m, names, name, most, points, means }) => {
  const [low, high] = M.endsOf(points.flat().map(([, v]) => v));
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
  const corner = (i, side, up) => [found[i].bounds[side], 0.14 * up - i];
  const bar = (i) => [corner(i, 0, 1), corner(i, 1, 1), corner(i, 1, -1), corner(i, 0, -1)];
  return {
    height: 90 + 70 * names.length, small: 90 + 60 * names.length,
    x: { min: 0, max: 1, label: `exact ${name}: what each sampled number leaves open` },
    y: { min: 0.5 - names.length, max: 0.5, ticks: names.map((who, i) => [-i, who]) },
    bands: names.map((_, i) => [-i - 0.5, -i + 0.5]),
    area: names[1] ? [...bar(0), ...bar(1), corner(1, 0, 1), corner(0, 0, -1)] : bar(0),
    marks: names.flatMap((who, i) => [
      ...["lowest", "highest"].map((what, side) =>
        ({ style: i, x: found[i].bounds[side], y: -i, name: `${who}, exact, ${what}` })),
      { style: 3, x: found[i].value, y: -i, name: `${who}, sampled` }]),
  };
};

// --- words

const TONES = { "Order kept": "good", "Order turned": "bad", "Order lost": "bad" };
const UNTOLD = "Cannot be told from these numbers";
const inHundred = (p) => (p > 0.995 ? "practically always" : p < 0.005 ? "practically never"
  : `in ${Math.round(100 * p)} of 100 evaluations`);
const inLine = (text) => text.replace(/\s+/g, " ").trim();
// What there is to say of each, and whose it is where there are two: 0.4 for A and 0.5 for B.
const each = (names, say) =>
  names.map((who, i) => `${say(i)}${names[1] ? ` for ${who}` : ""}`).join(" and ");
const checkRoom = ({ m, n }) => m < n - 1
  || refuse("m", `At most n − 2 = ${whole(n - 2)}: who draws more has ranked all.`);

const COMMANDS = { "HR@k": "recall@", "NDCG@k": "ndcg@", "MRR@k": "rr@", NDCG: "ndcg", MRR: "rr",
  AUC: "auc" };
const commandOf = ({ metric, k }) => COMMANDS[metric] + (E.isCut(metric) ? k : "");
const samples = ({ m, replacement }) => `--samples ${m}${replacement ? "" : " --without-replacement"}`;
const WIDE = 'pd.set_option("display.width", 200, "display.max_columns", None)';

// --- printed numbers

const ofNumbers = (form, names, values, users, decimals, { fields = [], paired = "" } = {}) => {
  const found = values.map((v, i) => E.explain(form, fields[i], v, users || 1, decimals));
  const pair = names[1] && difference(...found, users, decimals), name = nameOf(form);
  const told = pair?.known && (!users || pair.beyond), isLevel = pair && !pair.value;
  const [low, high] = found[0].bounds, printed = values.map((v) => v.toFixed(decimals));
  const open = names.map((who, i) => `exact ${name}${pair ? ` of ${who}` : ""} ${
    E.canBe(found[i].bounds, 4)}`).join(", and ");
  const chance = !users ? "" : `With ${count(users, "user")} and 95 percent confidence, that is ${
    each(names, (i) => span(found[i].boundsWithError))}. `;
  const ways = !pair || isLevel || pair.known ? "" : "Either can be the better one. ";
  const apart = !users || !pair || isLevel || paired ? "" : {
    true: `That the sampled numbers differ by ${fixed(pair.value)} is more than chance, but it is a
      difference of sampled metrics. `,
    false: "The two numbers differ by no more than chance explains. ",
    null: "Whether their difference is chance depends on the single users. ",
  }[pair.beyond];
  const rough = E.isCut(form.metric) && form.k <= form.m
    ? `${E.resembles(form)} ${whole(form.n)}: read the order there.` : "";
  const share = low < high / 2 ? "little" : low < 0.95 * high ? "something" : "much";
  const verdict = isLevel ? "The numbers are equal" : !pair ? `Says ${share} about the exact ${name}`
    : told ? "Order kept" : UNTOLD;
  return {
    verdict, tone: TONES[verdict] ?? (!pair && share === "much" ? "good" : "open"), names, found, pair,
    sentence: inLine(`Chance aside, ${open}. ${ways}${chance}${apart}${paired}${rough}`),
    plot: drawBounds({ names, name, found }),
    rows: [["exact, chance aside", ...found.map((one) => span(one.bounds)), ""],
      ...(users ? [["exact, 95 %", ...found.map((one) => span(one.boundsWithError)), ""]] : [])],
    paper: `${name} was computed among ${count(form.m, "sampled item")} of ${whole(form.n)} (uniform, ${
      form.replacement ? "with" : "without"} replacement), not among all items: ${
      names.map((who, i) => `a sampled ${name} of ${+values[i].toFixed(Math.min(decimals, 4))}${
        pair ? ` (${who})` : ""} allows an exact one of ${span(found[i].bounds)}`).join(", and ")}${
      pair && !isLevel ? `. The order of the two ${told ? "is that of the exact metric"
        : "cannot be told from this"}` : ""}.`,
    command: `sampled-metrics explain ${commandOf(form)} ${printed[0]}${
      pair ? ` --other ${printed[1]}` : ""} --items ${form.n} ${samples(form)}${
      users ? ` --users ${users}` : ""}`,
    python: `explain(
    ${E.publishedCode(form)}, ${printed[0]}, ${E.drawCode(form)},
    ${users ? `n_users=${users}, ` : ""}${pair ? `other=${printed[1]}, ` : ""}decimals=${decimals},
)`,
  };
};

const showNumbers = (form) => {
  checkRoom(form);
  E.checkTop(form);
  if (!form.a.trim()) refuse("a", "A number from the paper, please, such as 0.66.");
  const fields = ["a", "b"].filter((field) => form[field].trim());
  const values = fields.map((field) => E.shareOf(form[field], field));
  const decimals = Math.max(...fields.map((field) => E.decimalsOf(form[field])));
  const users = +form.users.replace(/[ ,_]/g, "");
  if (!Number.isInteger(users) || users < 0) {
    refuse("users", "A whole number, or nothing if the paper does not say.");
  }
  const told = ofNumbers(form, ["A", "B"].slice(0, values.length), values, users, decimals, { fields });
  const { found, pair } = told;
  return { ...told, python: E.code(`print(${told.python})`), rows: [
    ["sampled", ...values.map((v) => v.toFixed(decimals)), pair ? fixed(pair.value) : ""],
    ...(users ? [["its 95 % interval", ...found.map((one) => span(one.interval)),
      pair ? span(pair.interval) : ""]] : []),
    ...told.rows] };
};

// --- ranks

let read = {}, drawn = {}, last; // the text that was read, the curves, and what can be saved
async function tableOf({ ranks, columns }, rest) {
  if (read.ranks !== ranks) read = { ranks, all: await parse(ranks, rest) };
  return pick(read.all, columns);
}

const listed = (values) => (values.length ? `[${values.join(", ")}]` : values);
const ranksCode = ({ names, rows, n, catalog, ids }) => (ids.length > 20
  ? `ranks = Ranks.read("ranks.csv")  # the file that "Save as ranks.csv" made`
  : `ranks = {\n${names.map((who, i) => `    "${who}": Ranks(
        ${listed(rows[i].best)},
        ${rows[i].tied.some(Boolean) ? `n_tied=${listed(rows[i].tied)}, ` : ""}n_items=${listed(n)},${
  catalog ? ` catalog=${catalog},` : ""}
    ),\n`).join("")}}`);
const csvOf = ({ names, rows, n, catalog, ids }) => {
  const quote = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const more = (cell) => (catalog ? `,${cell}` : "");
  const lines = names.flatMap((who, i) => ids.map((id, x) => `${quote(who)},${quote(id)},${
    rows[i].best[x]},${rows[i].tied[x]},${n[x] ?? n}${more(catalog)}`));
  return `recommender,user,rank,n_tied,n_items${more("catalog")}\n${lines.join("\n")}\n`;
};

const checkRanks = (rows, most, what) => tell(rows.flatMap(({ best, tied, lines }) => best
  .map((rank, x) => [lines[x], rank + tied[x]]).filter(([, rank]) => rank > most)
  .map(([line, rank]) => [line, `rank ${whole(rank)} is above ${what}, ${whole(most)}`])));

// What was measured for each of one or two: the value, and the interval of it and of the difference.
const measured = (columns, [least, most]) => {
  const size = columns[0].length, range = most - least, all = columns.map((one) => summary(one));
  const around = all.map(({ mean, error }) => interval(mean, error, size, [least, most]));
  const apart = columns[1] && summary(columns[0].map((v, x) => v - columns[1][x]));
  const between = apart && interval(apart.clean, apart.error, size, [-range, range], -1);
  return { means: all.map(({ mean }) => mean), around, apart, between,
    sure: apart && (between[0] > 0 || between[1] < 0),
    rows: (what) => [[what, ...all.map(({ mean }) => fixed(mean)), apart ? fixed(apart.clean) : ""],
      ["its 95 % interval", ...around.map(span), apart ? span(between) : ""]] };
};

const showSampled = (form, table) => {
  const { names, rows } = table, { m, n } = form, values = M.sampledValues(E.published(form), m);
  checkRoom(form);
  E.checkTop(form);
  checkRanks(rows, m + 1, "m + 1");
  const seen = measured(rows.map(({ best, tied }) =>
    best.map((rank, x) => M.mean(values.subarray(rank - 1, rank + tied[x])))), M.endsOf(values));
  const told = ofNumbers(form, names, seen.means.map((mean) => +mean.toFixed(6)), rows[0].best.length,
    6, { paired: seen.apart && `Measured user by user, the sampled difference is ${
      fixed(seen.apart.clean)}, from ${span(seen.between)}. ` });
  const isSure = told.verdict !== "Order kept" || seen.sure;
  last = { ...table, n: m + 1, catalog: n };
  return { ...told, ...(isSure ? {} : { verdict: UNTOLD, tone: "open" }),
    rows: [...seen.rows("as sampled"), ...told.rows],
    command: `# with the file that "Save as ranks.csv" makes
sampled-metrics evaluate ranks.csv --metrics ${commandOf(form)}
sampled-metrics compare ranks.csv --metrics ${commandOf(form)}
${told.command}`,
    python: E.code(`${WIDE}
${ranksCode(last)}
found = evaluate(
    ranks, [${E.publishedCode(form)}], estimators={"uncorrected": Uncorrected()}
)
print(found.table)
${names[1] ? "print(found.comparisons())\n" : ""}print(${told.python})`) };
};

const ROUND = [20, 50, 100, 200, 500, 1000]; // usual numbers of sampled items

async function showExact(form, table, rest) {
  const { names, rows } = table, users = rows[0].best.length, { m, k, replacement } = form;
  const n = table.n === Infinity ? form.n : table.n, name = nameOf(form), metric = E.published(form);
  const [fewest, most] = M.endsOf([n].flat()), isOne = fewest === most;
  if (table.n === Infinity) checkRanks(rows, n, "n");
  checkRoom({ m, n: fewest });
  const every = [];
  for (const row of rows) every.push(await moments(row, n, metric, m, replacement, rest));
  const exact = measured(every.map((one) => one.exact), [0, 1]);
  await rest();
  const expected = every.map(({ mean, noise, offset }) => {
    const found = summary(mean, noise);
    return { mean: found.mean + offset, error: found.error };
  });
  const order = names[1] && rightOrder(...every);
  await rest();
  const key = `${name} ${isOne ? n : ""} ${replacement}`;
  if (drawn.key !== key || drawn.table !== table) {
    drawn = { key, table, points: await curves(rows, n, metric, replacement, rest) };
  }
  last = { ...table, n, catalog: undefined };

  const verdict = !order ? exact.means[0] ? `Sampled: ${
    +(expected[0].mean / exact.means[0]).toPrecision(2)} times the exact value` : "Exactly 0"
    : !order.exact ? "Exactly level" : !order.sampled ? "Order lost"
      : order.exact * order.sampled < 0 ? "Order turned"
        : order.again < 0.95 ? "Order kept on average" : "Order kept";
  const among = isOne ? whole(most) : `${whole(fewest)} to ${whole(most)}`;
  const means = (all) => each(names, (i) => fixed(all[i]));
  const often = order?.exact && [order.again, order.anew].map(inHundred);
  const lost = E.isCut(form.metric) && k > m
    ? ` Each item is in the top ${whole(k)} of ${whole(m + 1)}.` : "";
  const inOrder = !order?.exact ? "" : !order.sampled ? `That is no order at all.${lost}`
    : `The right order, ${names[order.exact > 0 ? 0 : 1]} first, comes out ${often[0] === often[1]
      ? `${often[0]}, for these users and for as many new ones`
      : `${often[0]} for these users, and ${often[1]} for as many new ones`}.`;
  const unsure = order?.exact && !exact.sure ? `With ${count(users, "user")}, the exact difference itself
    may be chance: its interval includes 0.` : "";
  const isFew = users > 19 && fewest > 10 * (m + 1)
    && rows.every(({ best }) => best.every((rank) => rank <= m + 1)); // as if they were sampled ranks
  const isRound = isOne && ROUND.some((size) => most === size || most === size + 1);
  const looks = !isFew && !isRound ? "" : `${isFew ? `No rank is above ${whole(m + 1)}` : `All users have ${
    whole(most)} items, a round number`}: if these are ranks among a sample, say so above.`;
  return { verdict, tone: TONES[verdict] ?? "open", names,
    sentence: inLine(`Exact ${name} is ${means(exact.means)} among all ${among} items. ${
      count(m, "sampled item")} would give ${means(expected.map(({ mean }) => mean))} on average.
      ${inOrder} ${unsure} ${looks} ${
      table.others.length ? `Not looked at: ${table.others.join(", ")}.` : ""}`),
    plot: drawCurves({ m, names, name, points: drawn.points, most: Math.min(most - 1, 1e5),
      means: expected.map(({ mean }) => mean) }),
    rows: [...exact.rows("exact"),
      [`among ${whole(m)}, expected`, ...expected.map(({ mean }) => fixed(mean)),
        order ? fixed(order.sampled) : ""],
      ["its 95 % interval", ...expected.map(({ mean, error }) =>
        span(interval(mean, error, users, M.endsOf(M.sampledValues(metric, m))))), ""],
      ["what that leaves open", ...expected.map(({ mean }) => (isOne
        ? span(E.explain({ ...form, n }, "m", +mean.toFixed(6), users, 6).bounds) : "")), ""],
      ...(order ? [["right order, new users", "", "", fixed(order.anew)],
        ["right order, these users", "", "", fixed(order.again)]] : [])],
    paper: inLine(`All ${among} items were ranked for ${whole(users)} users: ${name} is ${
      each(names, (i) => `${fixed(exact.means[i])} (95 % interval ${span(exact.around[i])})`)}${
      order ? `; the difference, ${fixed(exact.apart.clean)}, has the interval ${
        span(exact.between)}` : ""}. ${rows.some(({ tied }) => tied.some(Boolean))
      ? "Ties count as the mean over all ways to break them." : ""}`),
    command: `# with the file that "Save as ranks.csv" makes
sampled-metrics evaluate ranks.csv --metrics ${commandOf(form)} ${samples(form)}${order ? `
sampled-metrics compare ranks.csv --metrics ${commandOf(form)}
sampled-metrics compare ranks.csv --metrics ${commandOf(form)} ${samples(form)}` : ""}`,
    python: E.code(`${WIDE}
${ranksCode(last)}
metric = ${E.publishedCode(form)}
found = evaluate(
    ranks, [metric], ${E.drawCode({ m, replacement })},
    estimators={"uncorrected": Uncorrected()},
)
print(found.table)${order ? `
print(found.comparisons())  # of the exact metric
print(found.orders())  # what an evaluation by sampling would say` : ""}${isOne ? `
for value in found.table["value"][found.table["estimator"] == "uncorrected"]:
    whole = ${E.drawCode({ m, n, replacement })}
    print(explain(metric, round(value, 6), whole, decimals=6).bounds)` : ""}`) };
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
  return showSampled({ ...form, ...more }, table);
}

let python;
async function show(form, data, rest) {
  const found = await (form.input === "numbers" ? showNumbers(form) : showRanks(form, rest));
  ({ python } = found);
  const head = [nameOf(form), ...found.names, ...(found.names[1] ? ["difference"] : [])];
  return { ...found, plots: [found.plot], texts: [found.paper, found.command],
    tables: [[head, ...found.rows.map((row) => row.slice(0, head.length))]] };
}

// --- controls

// Columns as lines, below their titles.
const inLines = (titles, ...columns) =>
  [titles, ...columns[0].map((_, i) => columns.map((column) => column[i]))].join("\n");
const USERS = [1, 2, 3, 4, 5, 6, 7, 8], MINE = [4, 9, 2, 2100, 1800, 950, 2600, 1400];
const OTHER = [150, 220, 90, 310, 60, 180, 240, 120];
const RANKS = inLines("user,mine,other", USERS, MINE, OTHER);
const TOY = inLines("A,C", M.TOY.A, M.TOY.C);
const TABLE = inLines("recommender,user,rank,n_items", [...USERS.map(() => "mine"),
  ...USERS.map(() => "other")], [...USERS, ...USERS], [...MINE, ...OTHER], Array(16).fill(3706));
const SAMPLE = inLines("user,mine,other", USERS, [1, 1, 1, 60, 48, 27, 71, 39],
  [3, 5, 2, 9, 2, 6, 7, 4]);
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
