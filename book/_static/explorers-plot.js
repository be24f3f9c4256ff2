/* The drawings of the explorers. */
(() => {
"use strict";
const { tabulate } = globalThis.sampledMetrics, { whole } = globalThis.explorers;

const MARKS = [
  (x, y) => `<circle cx="${x}" cy="${y}" r="5"/>`,
  (x, y) => `<path d="M${x - 4.5} ${y - 4.5}h9v9h-9z"/>`,
  (x, y) => `<path d="M${x} ${y - 6}l6 10h-12z"/>`,
  (x, y) => `<circle cx="${x}" cy="${y}" r="3"/>`, // what surrounds the others
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
const toRank = (max, label) => ({ min: 1, max, log: true, label });// Draw lines (with a few marks each), single marks and an area.
function plot(svg, { text, height = 320, x, y, lines = [], marks = [], area, at, key }) {
  const legend = key || lines.map(({ name }) => name);
  const width = svg.getBoundingClientRect().width || 600, yTicks = ticksOf(y);
  const left = 14 + 7.2 * Math.max(...yTicks.map(([, name]) => `${name}`.length));
  const top = 10 + 18 * legend.length, bottom = height - 44, right = width - 32;
  const place = ({ min, max, log }, v) =>
    (log ? Math.log(v) / Math.log(max) : (v - min) / (max - min));
  const X = (v) => Math.round(left + place(x, v) * (right - left));
  const Y = (v) => Math.round(bottom - place(y, v) * (bottom - top));
  const path = (points) => `M${points.map(([a, b]) => `${X(a)} ${Y(b)}`).join("L")}`;
  const spots = marks.concat(lines.flatMap(({ style, points }) => points
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
    ...lines.map(({ style, points }) => `<path class="line s${style}" d="${path(points)}"/>`),
    ...spots.map(({ style, x: a, y: b, shift = 0 }) =>
      `<g class="s${style}">${MARKS[style](X(a), Y(b) + shift)}</g>`),
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

Object.assign(globalThis.explorers, { makeDraggable, plot });
})();
