// The explorers: native controls, and from their values a sentence, drawings and tables.
(() => {
"use strict";
const M = globalThis.sampledMetrics, { tabulate } = M;

const fixed = (value, digits = 3) =>
  (value + Math.sign(value) * 1e-12).toFixed(digits).replace(/^-(0\.0+)$/, "$1");
const whole = (value) => value.toLocaleString("en");
const unique = (values) => [...new Set(values)].sort((a, b) => a - b);
const spaced = (low, high, count, round = Math.round) =>
  unique(tabulate(count, (i) => round(low * (high / low) ** (i / (count - 1)))));
const upTo = (n, ...more) => unique([1, 10, 100, 1e3, 1e4, 1e5, n, ...more]).filter((r) => r <= n);

// --- controls

// A number; where there is a `count`, also a slider with so many stops on a logarithmic scale.
const number = (name, label, value, min, max, count) => {
  const round = max > 1 ? Math.round : (v) => +v.toPrecision(3);
  const stops = count ? unique([...spaced(min, max, count, round), value]) : [];
  return `<div><label>${label} <input type="number" name="${name}" value="${value}" min="${min}"
    max="${max}" step="${max > 1 ? 1 : "any"}"></label>${count ? `<input type="range" min="0"
    max="${stops.length - 1}" value="${stops.indexOf(value)}" data-moves="${name}"
    data-stops="${stops}" aria-label="${label}, slider">` : ""}</div>`;
};
const METRICS = { AP: M.averagePrecision, NDCG: M.ndcg, Recall: M.recall, AUC: M.auc };
const metricAndCutoff = `<div><label>metric <select name="metric">
  ${Object.keys(METRICS).map((name) => `<option>${name}`).join("")}</select></label></div>
  ${number("k", "k of recall", 10, 1, 1000)}`;
const chosen = ({ metric, k }) =>
  (metric === "Recall" ? [M.recall(k), `Recall@${k}`] : [METRICS[metric](), metric]);
const sampling = (m, n, most = 1e4) => (n ? number("n", "n, items", n, 2, most, 120) : "")
  + number("m", "m, sampled items", m, 1, n ? most / 50 : 9999, 120);
const twice = `<div><label><input type="checkbox" name="replacement" checked> with replacement
  </label></div>`;
const drawn = ({ n, m, replacement }) =>
  `n = ${whole(n)}, m = ${whole(m)}, ${replacement ? "with" : "without"} replacement`;

// Show a message at a control, and no results.
const refuse = (field, message) => { throw Object.assign(Error(message), { field }); };
const checkDraw = ({ n, m, replacement }) => replacement || m < n
  || refuse("m", `Without replacement, m must be at most n − 1 = ${whole(n - 1)}.`);

// --- drawings

const MARKS = [
  (x, y) => `<circle cx="${x}" cy="${y}" r="5"/>`,
  (x, y) => `<path d="M${x - 4.5} ${y - 4.5}h9v9h-9z"/>`,
  (x, y) => `<path d="M${x} ${y - 6}l6 10h-12z"/>`,
];
const ticksOf = ({ min, max, log, ticks }) => {
  if (ticks) return ticks;
  const base = max > 1e5 ? 100 : 10;
  if (log) return tabulate(6, (i) => base ** i).filter((v) => v <= max).map((v) => [v, whole(v)]);
  const ten = 10 ** Math.floor(Math.log10(max - min));
  const step = ten * [0.2, 0.5, 1, 2].find((s) => (max - min) / (s * ten) < 6);
  return tabulate(9, (i) => step * (Math.ceil(min / step - 1e-9) + i))
    .filter((v) => v < max + 1e-9).map((v) => [v, +v.toPrecision(3)]);
};
const toRank = (max, label) => ({ min: 1, max, log: true, label });

// Draw lines (with a few marks each), single marks and an area.
function plot(svg, { text, height = 320, x, y, lines = [], marks = [], area, at, legend = [], ends }) {
  const width = svg.getBoundingClientRect().width || 600, yTicks = ticksOf(y);
  const left = 14 + 7.2 * Math.max(...yTicks.map(([, name]) => `${name}`.length));
  const top = 10 + 18 * legend.length, bottom = height - 44, right = width - (ends ? 44 : 32);
  const place = ({ min, max, log }, v) =>
    (log ? Math.log(v) / Math.log(max) : (v - min) / (max - min));
  const X = (v) => Math.round(left + place(x, v) * (right - left));
  const Y = (v) => Math.round(bottom - place(y, v) * (bottom - top));
  const path = (points) => `M${points.map(([a, b]) => `${X(a)} ${Y(b)}`).join("L")}`;
  const spots = marks.concat(lines.flatMap(([style, points]) => points
    .filter((_, i) => points.length < 3 || i % 20 === 4 * style)
    .map(([a, b]) => ({ style, x: a, y: b }))));
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("aria-label", `${x.label}: ${text}`);
  svg.style.height = `${height}px`;
  svg.innerHTML = [
    ...yTicks.map(([v, name]) => `<path class="grid" d="M${left} ${Y(v)}H${right}"/>
      <text class="end" x="${left - 6}" y="${Y(v) + 4}">${name}</text>`),
    ...ticksOf(x).map(([v, name]) => `<path class="grid" d="M${X(v)} ${top}V${bottom}"/>
      <text x="${X(v)}" y="${bottom + 17}">${name}</text>`),
    `<text x="${(left + right) / 2}" y="${height - 8}">${x.label}</text>`,
    area && `<path class="area" d="${path(area)}Z"/>`,
    at && `<path class="at" d="M${X(at)} ${top}V${bottom}"/>`,
    ...lines.map(([style, points]) => `<path class="line s${style}" d="${path(points)}"/>`),
    ...spots.map(({ style, x: a, y: b, shift = 0 }) =>
      `<g class="s${style}">${MARKS[style](X(a), Y(b) + shift)}</g>`),
    ...(ends ? lines : []).map(([style, points], i) => `<text class="start name s${style}"
      x="${right + 8}" y="${Y(points.at(-1)[1]) + ends[i][1]}">${ends[i][0]}</text>`),
    ...legend.map((name, i) => `<g class="s${i}">
      ${lines.length ? `<path class="line" d="M${left} ${8 + 18 * i}h28"/>` : ""}
      ${MARKS[i](left + 14, 8 + 18 * i)}</g>
      <text class="start" x="${left + 36}" y="${12 + 18 * i}">${name}</text>`),
  ].join("");
  svg.handles = marks.map((mark) => [mark.field, X(mark.x), Y(mark.y)]);
  svg.valueAt = (px) => Math.round(x.max ** Math.min(Math.max((px - left) / (right - left), 0), 1));
}

// Dragging a mark sideways changes the number of its field.
function makeDraggable(svg, { elements }) {
  let held;
  const listen = (name, f) => svg.addEventListener(name, (event) => {
    const box = svg.getBoundingClientRect();
    f(event.clientX - box.left, event.clientY - box.top, event);
  });
  listen("pointerdown", (px, py, { pointerId }) => {
    const far = ([, x, y]) => Math.hypot((x - px) / 2, y - py);
    [held] = svg.handles.filter((mark) => far(mark) < 16).sort((a, b) => far(a) - far(b))[0] || [];
    if (held) svg.setPointerCapture(pointerId);
  });
  listen("pointermove", (px, py, { buttons }) => {
    if (!held || !buttons) return;
    elements[held].value = svg.valueAt(px);
    elements[held].dispatchEvent(new Event("input", { bubbles: true }));
  });
}

// --- the five

const TOY = {
  A: [100, 100, 100, 100, 100], B: [40, 40, 8437, 9266, 4482], C: [212, 2, 743, 5342, 1548],
};
const NAMES = Object.keys(TOY);
const toy = (form) => {
  const n = 10000, [metric, name] = chosen(form), values = M.sampledValues(metric, form.m);
  const ranks = NAMES.map((who) => TOY[who].map((_, i) => form[who + i]));
  const means = (f) => ranks.map((five) => M.mean(five.map(f)));
  const exact = means((r) => metric(r, n));
  const sampled = means((r) => M.expectation(values, r, n, form.replacement));
  const sign = (v, i, j) => Math.sign(+(v[i] - v[j]).toFixed(9));
  const order = (v) => [0, 1, 2].sort((i, j) => sign(v, j, i)).map((j, at, all) =>
    (at ? (sign(v, all[at - 1], j) ? " > " : " = ") : "") + NAMES[j]).join("");
  const flip = (i, j) => sign(exact, i, j) * sign(sampled, i, j) < 0;
  return {
    sentence: `By exact ${name} the order is ${order(exact)}; by expected sampled ${name} (${
      drawn({ ...form, n })}) it is ${order(sampled)}: ${
      flip(0, 1) || flip(0, 2) || flip(1, 2) ? "it flips" : "no pair flips"}.`,
    plots: [{
      text: NAMES.map((who, i) => `${who}: ${ranks[i].join(", ")}.`).join(" "),
      height: 430, x: toRank(n, "exact ranks (drag the marks)"),
      y: { min: -14.5, max: 0.5, ticks: NAMES.map((who, i) => [-5 * i - 2, who]) },
      marks: ranks.flatMap((five, i) => five.map((x, j) =>
        ({ style: i, x, y: -5 * i - j, field: NAMES[i] + j }))),
    }, {
      height: 430, legend: NAMES,
      x: { min: -0.2, max: 1.2, ticks: [[0, "exact"], [1, "sampled"]], label: `mean ${name}` },
      y: { min: 0, max: 1.05 * Math.max(...exact, ...sampled) || 1 },
      lines: NAMES.map((_, i) => [i, [[0, exact[i]], [1, sampled[i]]]]),
    }],
    tables: [[["recommender", "exact", "sampled"],
      ...NAMES.map((who, i) => [who, fixed(exact[i]), fixed(sampled[i])])]],
  };
};
Object.assign(toy, {
  controls: `${NAMES.map((who) => `<fieldset><legend>ranks of ${who}</legend>${
    TOY[who].map((rank, i) => `<input type="number" name="${who}${i}" value="${rank}" min="1"
    max="10000" aria-label="rank of ${who} in instance ${i + 1}">`).join("")}</fieldset>`).join("")}
    ${metricAndCutoff}${sampling(99)}${twice}`,
  panels: 2,
  tables: ["Mean over the five instances"],
});

// On the landing page: the same ranks, and one slider.
const flip = ({ m }) => {
  const n = 10000, metric = M.averagePrecision(); // the reciprocal rank, as one item is relevant
  const percent = (values, r) => 100 * M.expectation(values, r, n, false);
  const means = (m) => {
    const values = M.sampledValues(metric, m);
    return NAMES.map((who) => M.mean(TOY[who].map((r) => percent(values, r))));
  };
  flip.curve ??= spaced(1, n - 1, 50).map((m) => [m, means(m)]);
  const exact = means(n - 1), sampled = means(m);
  const winner = (v) => NAMES[v.indexOf(Math.max(...v))];
  return {
    sentence: `Exact winner: ${winner(exact)}. Winner among ${whole(m)} random items: ${
      winner(sampled)}.`,
    plots: [{
      text: `Among ${whole(m)} items, ${NAMES.map((who, i) =>
        `${who} has ${fixed(sampled[i], 1)} percent`).join(", ")}.`,
      height: 300, at: m, x: { ...toRank(n, "sampled items, m (drag the line)") },
      y: { min: 1, max: 100, log: true },
      lines: NAMES.map((_, i) => [i, flip.curve.map(([m, v]) => [m, v[i]])]),
      ends: NAMES.map((who, i) => [who, [-2, 12, 4][i]]),
      marks: NAMES.map((_, i) => ({ style: i, x: m, y: sampled[i], field: "m" })),
    }],
    tables: [[["", ...NAMES], ["exact", ...exact.map((v) => fixed(v, 1))],
      [`among ${whole(m)}`, ...sampled.map((v) => fixed(v, 1))]]],
  };
};
Object.assign(flip, {
  controls: sampling(99),
  tables: ["Mean reciprocal rank in percent"],
});

const weight = (form) => {
  checkDraw(form);
  const { n, m } = form, [metric, name] = chosen(form), values = M.sampledValues(metric, m);
  const kinds = [(r) => metric(r, n), (r) => M.expectation(values, r, n, form.replacement)];
  const r = Math.round(Math.sqrt(n)), [exact, sampled] = kinds.map((f) => fixed(f(r)));
  const grid = spaced(1, n, 150);
  return {
    sentence: `At rank ${whole(r)}, exact ${name} is ${exact}; expected sampled ${name} (${
      drawn(form)}) is ${sampled}.`,
    plots: [{
      legend: ["exact", "expected sampled"],
      x: toRank(n, "exact rank r"), y: { min: 0, max: 1.02 },
      lines: kinds.map((f, i) => [i, grid.map((r) => [r, f(r)])]),
    }],
    tables: [[["rank", "exact", "sampled"],
      ...upTo(n, 2, 5, 20, 50).map((r) => [whole(r), ...kinds.map((f) => fixed(f(r)))])]],
  };
};
Object.assign(weight, {
  controls: metricAndCutoff + sampling(99, 10000, 1e5) + twice,
  tables: ["Weight of single ranks"],
});

const correction = (form) => {
  const { n, m, gamma } = form, [metric, name] = chosen(form), grid = spaced(1, n, 120);
  if (n < 3) refuse("n", "At least 3, please.");
  const tables = [M.uncorrected(metric, n, m), M.rankEstimate(metric, n, m),
    M.biasVariance(gamma, metric, n, m)];
  const names = ["uncorrected", "rank estimate", "corrected"];
  const errors = tables.map((t) => M.averageError(t, metric, n).map((v) => fixed(v, 4)));
  const curves = grid.map((r) => {
    const p = M.rankDistribution(r, n, m);
    return tables.map((values) => {
      const [center, variance] = M.meanAndVariance(values, p);
      return [center - metric(r, n), Math.sqrt(variance)];
    });
  });
  const kinds = ["bias", "standard deviation"];
  return {
    sentence: `${name}, n = ${whole(n)}, m = ${m}, γ = ${gamma}: ${kinds.map((kind, i) =>
      `average ${kind} ${errors[0][i]} uncorrected, ${errors[2][i]} corrected`).join("; ")}.`,
    plots: kinds.map((kind, which) => {
      const all = curves.flatMap((three) => three.map((both) => both[which]));
      return {
        text: names.map((who, i) => `${who} ${errors[i][which]}`).join(", "),
        legend: names, x: toRank(n, `${kind} by exact rank`),
        y: { min: Math.min(0, ...all), max: 1.05 * Math.max(0.01, ...all) },
        lines: names.map((_, i) => [i, grid.map((r, at) => [r, curves[at][i][which]])]),
      };
    }),
    tables: [
      [["estimator", ...kinds], ...names.map((who, i) => [who, ...errors[i]])],
      [["sampled rank", ...names],
        ...tables[0].map((_, i) => [i + 1, ...tables.map((values) => fixed(values[i], 4))])],
    ],
  };
};
Object.assign(correction, {
  controls: `${metricAndCutoff}${number("gamma", "γ, price of variance", 0.1, 0.001, 1, 61)}
    ${sampling(100, 10000)}`,
  panels: 2,
  tables: ["Root mean squares over all ranks", "Estimate for each sampled rank"],
});

const PUBLISHED = { "HR@k": M.recall, "NDCG@k": M.ndcg, "MRR@k": M.reciprocalRank, NDCG: M.ndcg,
  MRR: M.reciprocalRank, AUC: M.auc };
const reviewer = (form) => {
  checkDraw(form);
  const { value, metric, k, n, m, users } = form, make = PUBLISHED[metric];
  const cut = metric.endsWith("k"), named = (c) => metric.replace("k", whole(c)), name = named(k);
  const means = M.explain(cut ? make(k) : make(), n, m, form.replacement);
  const at = (c) => (cut ? means(value, users, make(c), c) : means(value, users));
  if (!at(n)) refuse("value", `No ranks have such a sampled ${name}.`);
  const own = Math.min(k, n), alike = Math.round(M.resembledCutoff(k, n, m)), all = at(own);
  const canBe = (ends) => {
    const [low, high] = ends.map((v) => fixed(v));
    return low === high ? `is ${low}` : `can be anything from ${low} to ${high}`;
  };
  const outline = all.outline(), x = outline.map(([u]) => u);
  const rows = (cut ? upTo(n, own, alike) : [0]).map((c) => [c, at(c)]);
  return {
    sentence: `A sampled ${name} of ${value} (${drawn(form)}). ${cut ? `The top ${
      whole(Math.min(k, m + 1))} of ${whole(m + 1)} resembles the top ${whole(alike)} of all ${
      whole(n)}. ` : ""}Chance aside, exact ${name} ${canBe(all.bounds)}. With ${
      whole(users)} users the standard error is ${metric === "HR@k" ? "" : "at most "}${
      fixed(all.standardError, 4)}: with 95 percent confidence, exact ${name} ${
      canBe(all.boundsWithError)}.`,
    plots: [{
      legend: ["lowest", "highest"], at: value,
      x: { min: x[0], max: x.at(-1), label: `sampled ${name} (dotted: yours)` },
      y: { min: 0, max: 1.02 },
      area: [...outline.map(([u, low]) => [u, low]),
        ...outline.map(([u, , high]) => [u, high]).reverse()],
      lines: [1, 2].map((end) => [end - 1, outline.map((row) => [row[0], row[end]])]),
    }],
    tables: [[["exact metric", "lowest", "highest", "lowest, 95 %", "highest, 95 %"],
      ...rows.map(([c, { bounds, boundsWithError }]) =>
        [named(c), ...[...bounds, ...boundsWithError].map((v) => fixed(v))])]],
  };
};
Object.assign(reviewer, {
  controls: `${number("value", "value in the paper", 0.66, 0, 1)}<div><label>metric <select
    name="metric">${Object.keys(PUBLISHED).map((name) => `<option>${name}`).join("")}</select>
    </label></div>${number("k", "its cutoff k", 10, 1, 1000)}${sampling(100, 3706, 1e6)}${twice}
    ${number("users", "users", 6040, 1, 1e9)}`,
  tables: ["What exact metrics can be: chance aside, and with chance"],
});

const USERS = [["1, 2, 3, 4, 5, 6", "1, 6, 8"], ["2, 4, 6", "1, 2, 3, 4, 5"], ["2, 4, 6", ""],
  ["", "1, 2, 3, 4"], ["", ""]];
const EMPTY = [["left out", NaN], ["0", 0], ["1", 1]];
const fiveUsers = (form) => {
  const items = (field) => {
    try { return M.parseItems(form[field]); } catch (e) { return refuse(field, `${e.message}.`); }
  };
  const users = USERS.map((_, i) =>
    M.fromRecommendations(items(`predictions${i}`), items(`labels${i}`)));
  const rows = M.dialects(form.k).map(([name, by, metric]) => {
    const values = users.map((user) => metric(user));
    return [name, by, values, EMPTY.map(([, empty]) => M.mean(values, empty))];
  });
  const names = [...new Set(rows.map(([name]) => name))];
  const spans = names.map((name) => {
    const all = rows.flatMap((row) => (row[0] === name ? row[3] : [])).filter((v) => !isNaN(v));
    return `${name} ${fixed(Math.min(...all))} to ${fixed(Math.max(...all))}`;
  });
  return {
    sentence: `The same lists, k = ${form.k}, mean in all dialects: ${spans.join(", ")}.`,
    plots: [{
      height: 380, legend: EMPTY.map(([rule]) => `no labels: ${rule}`),
      x: { min: 0, max: 1, label: "mean over users" },
      y: { min: -6.6, max: 0.6, ticks: names.map((name, i) => [-i, name]) },
      marks: rows.flatMap(([name, , , means]) => means.map((x, i) =>
        ({ style: i, x, y: -names.indexOf(name), shift: 8 * (i - 1) }))).filter(({ x }) => x >= 0),
    }],
    tables: [[["metric", "divides by", 1, 2, 3, 4, 5, ...EMPTY.map(([rule]) => `mean, ${rule}`)],
      ...rows.map(([name, by, ...rest]) => [name, by, ...rest.flat().map((v) => fixed(v))])]],
  };
};
Object.assign(fiveUsers, {
  controls: USERS.map((lists, i) => `<fieldset><legend>user ${i + 1}</legend>${
    ["labels", "predictions"].map((name, j) =>
      `<label>${name} <input name="${name}${i}" value="${lists[j]}"></label>`).join("")
  }</fieldset>`).join("") + number("k", "cutoff k", 3, 1, 100, 100),
  tables: ["Each user, and the mean where users without labels are left out, count 0, or count 1"],
});

// --- all of them

const fillIn = (table, [head, ...rows]) => {
  table.tBodies[0].innerHTML = `<tr>${head.map((c) => `<th scope="col">${c}`).join("")}</tr>${
    rows.map(([first, ...rest]) =>
      `<tr><th scope="row">${first}</th>${rest.map((c) => `<td>${c}`).join("")}</tr>`).join("")}`;
  const { scrollWidth, clientWidth, scrollHeight, clientHeight } = table.parentElement;
  // what scrolls must do so from the keyboard
  table.parentElement.tabIndex = -(scrollWidth <= clientWidth && scrollHeight <= clientHeight);
};

const KINDS = { toy, flip, weight, correction, reviewer, "five-users": fiveUsers };

function start(figure) {
  const kind = KINDS[figure.dataset.explorer];
  const body = figure.querySelector(".explorer-body");
  body.innerHTML = `<form novalidate autocomplete="off">${kind.controls}
    <div><button type="reset">Reset</button></div></form><div class="results">
    <p aria-live="polite"></p>
    <div class="panels">${'<svg role="img"></svg>'.repeat(kind.panels || 1)}</div>
    ${kind.tables.map((caption) => `<div class="scrolls" role="region" aria-label="${caption}">
    <table><caption>${caption}</caption><tbody></tbody></table></div>`).join("")}</div>`;
  const [form, { children: [sentence, { children: panels }] }] = body.children, { elements } = form;
  const tables = body.querySelectorAll("table"), error = document.createElement("p");
  error.id = `${figure.id}-error`;
  error.setAttribute("role", "alert");

  // Read all controls by name, and move the sliders to the numbers.
  const read = () => {
    const values = {};
    if (elements.metric) elements.k.disabled = !/@k|Recall/.test(elements.metric.value);
    for (const field of elements) {
      const { type, name, value, min, max, step, dataset: { moves, stops } } = field;
      if (moves) {
        field.value = stops.split(",").findLastIndex((v) => v <= values[moves]);
        field.setAttribute("aria-valuetext", values[moves]);
      } else values[name] = { checkbox: field.checked, number: +value }[type] ?? value;
      if (type === "number" && !field.disabled && (!value || !field.validity.valid)) {
        refuse(name, `A ${step === "any" ? "" : "whole "}number from ${min} to ${max}, please.`);
      }
    }
    return values;
  };

  const refresh = () => {
    let found = { sentence: "", plots: [], tables: [] };
    const wrong = form.querySelector("[aria-invalid]");
    for (const name of ["aria-invalid", "aria-describedby"]) wrong?.removeAttribute(name);
    try {
      found = kind(read());
      error.remove();
    } catch (problem) {
      const field = elements[problem.field];
      if (!field) throw problem;
      field.setAttribute("aria-invalid", "true");
      field.setAttribute("aria-describedby", error.id);
      field.closest("div, fieldset").append(error);
      error.textContent = problem.message;
    }
    body.classList.toggle("refused", !found.sentence); // no number stands beside a wrong input
    sentence.textContent = found.sentence;
    found.plots.forEach((spec, i) => plot(panels[i], { text: found.sentence, ...spec }));
    found.tables.forEach((rows, i) => fillIn(tables[i], rows));
  };

  let frame, width = figure.clientWidth;
  const soon = () => { cancelAnimationFrame(frame); frame = requestAnimationFrame(refresh); };
  form.addEventListener("input", ({ target: { value, dataset: { moves, stops } } }) => {
    if (moves) elements[moves].value = stops.split(",")[value];
    soon();
  });
  form.addEventListener("reset", () => setTimeout(refresh));
  for (const svg of panels) makeDraggable(svg, form);
  refresh(); // at once, for links into the page
  new ResizeObserver(() => {
    if (width !== (width = figure.clientWidth)) soon();
  }).observe(figure);
}

document.querySelectorAll(".explorer").forEach(start);
})();
