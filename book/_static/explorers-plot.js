/* The drawings of the explorers: lines, marks and an area, with readouts and marks to drag. */
(() => {
"use strict";
const { tabulate } = sampledMetrics, E = explorers, { fixed, whole } = E;

// Circle, square, triangle, and small circles for what surrounds the others.
const circle = (r) => `m${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
const MARKS = [circle(5), "m-4.5-4.5h9v9h-9z", "m0-6l6 10h-12z", ...[3, 2.5, 2].map(circle)];
const markAt = (style, x = 0, y = 0) => `M${x} ${y}${MARKS[style]}`;
const WORD = 7, LINE = 16; // the width of a letter, and the height of a line of text
const ticksOf = ({ min, max, log, ticks }) => {
  if (ticks) return ticks;
  const base = max / min > 1e5 ? 100 : 10;
  if (log) {
    return tabulate(6, (i) => min * base ** i).filter((v) => v <= max).map((v) => [v, whole(v)]);
  }
  const ten = 10 ** Math.floor(Math.log10(max - min));
  const step = ten * [0.2, 0.5, 1, 2].find((s) => (max - min) / (s * ten) < 6);
  return tabulate(9, (i) => step * (Math.ceil(min / step - 1e-9) + i))
    .filter((v) => v < max + 1e-9).map((v) => [v, +v.toPrecision(3)]);
};
const share = ({ min, max, log }, v) =>
  (log ? Math.log(v / min) / Math.log(max / min) : (v - min) / (max - min));
const inPixels = (axis, from, to) => (v) => Math.round(from + share(axis, v) * (to - from));
const say = ({ format, ticks }, v, usual) =>
  format?.(v) ?? ticks?.find(([t]) => t === v)?.[1] ?? usual(v);

// Of the places along its line, a name takes the one that keeps most clear of all lines and names.
// A line is traced by its points in pixels.
function nameLines(lines, { left, right, top, bottom }) {
  const taken = [];
  return lines.map(({ style, name = "", traced }, own) => {
    const half = (WORD * name.length) / 2;
    const clear = (x, y, least) => { // where it is not more than the least, that is enough to know
      const inside = Math.min(x - half - left, right - x - half, y - LINE - top, bottom - y);
      let room = 40 + Math.min(inside, 0) * 9;
      for (const [a, b, other] of taken) {
        const gap = Math.max(Math.abs(a - x) - half - other - 6, Math.abs(b - y) - LINE);
        room = Math.min(room, 2 * gap);
      }
      for (let which = 0; which < lines.length && room > least; which++) {
        for (const [a, b] of lines[which].traced) {
          if (a > x + half + 4) break;
          if (a < x - half - 4) continue;
          const gap = Math.max(y - LINE + 2 - b, b - y - 2);
          room = Math.min(room, which === own ? 40 + Math.min(gap - 1, 0) * 12 : 2 * gap);
        }
      }
      return room;
    };
    const places = traced.filter((_, i, { length }) => i % Math.ceil(length / 16) === 0)
      .flatMap(([x, y]) => [[x, y - 8], [x, y + LINE + 2], [x + half + 10, y + 4],
        [x - half - 10, y + 4]]);
    let best = { room: -Infinity };
    for (const [near, y] of places) {
      const x = Math.min(Math.max(near, left + half), right - half);
      const room = clear(x, y, best.room);
      if (room > best.room) best = { room, x, y };
    }
    taken.push([best.x, best.y, half]);
    return { style, name, x: best.x, y: best.y };
  });
}

// Short names, and those of straight lines, stand at the right ends, a line of text apart.
function nameEnds(lines, bottom) {
  const names = lines.map(({ style, name, traced }) =>
    ({ style, name, x: traced.at(-1)[0] + 10, y: traced.at(-1)[1] + 4 }));
  const ordered = [...names].sort((a, b) => a.y - b.y);
  ordered.forEach((label, i) => {
    if (i) label.y = Math.max(label.y, ordered[i - 1].y + LINE - 2);
  });
  ordered.reverse().forEach((label, i) => { // back up, where that went below the drawing
    label.y = Math.min(label.y, i ? ordered[i - 1].y - LINE + 2 : bottom + 4);
  });
  return names.map((label) => ({ ...label, start: true }));
}

// Change only what differs, so that what stays can move to its new place, and costs no layout.
const put = (element, name, value) => {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
};
function morph(old, now) {
  if (old.tagName !== now.tagName || old.children.length !== now.children.length) {
    old.replaceWith(now);
    return;
  }
  for (const { name, value } of now.attributes) put(old, name, value);
  if (now.children.length) [...now.children].forEach((child, i) => morph(old.children[i], child));
  else if (old.textContent !== now.textContent) old.textContent = now.textContent;
}

// Lay a drawing out in a box: its groups in SVG, and where its values are.
function layOut(spec, width, height) {
  const { x, y, lines = [], marks = [], bands = [], area, at, key = [], under } = spec;
  const yTicks = ticksOf(y), longest = Math.max(0, ...lines.map(({ name = "" }) => name.length));
  const atEnds = spec.namesAtEnds || longest < 4 || lines.every(({ points }) => points.length < 3);
  const xTicks = ticksOf(x), lastTick = `${xTicks.at(-1)[1]}`;
  const left = 14 + WORD * Math.max(0, ...yTicks.map(([, name]) => `${name}`.length));
  const box = { left, right: width - Math.max(18, 4 + (WORD * lastTick.length) / 2,
      lines.length && atEnds ? 14 + (WORD + 1) * longest : 0),
    top: y.label || key.length ? 26 : 10, bottom: height - 42 };
  const { right, top, bottom } = box, X = inPixels(x, left, right), Y = inPixels(y, bottom, top);
  const trace = (points) => points.map(([a, b]) => [X(a), Y(b)]);
  const path = (traced) => `M${traced.map(([a, b]) => `${a} ${b}`).join("L")}`;
  const to = (a, b, from) => `style="transform:translate(${a}px,${b}px)${
    from ? `;--from:translate(${X(from[0])}px,${Y(from[1])}px)` : ""}"`;
  const grid = ({ bare }, d) => (bare ? "" : `<path class="grid" d="${d}"/>`);
  const spots = ({ style, traced }) => traced
    .filter((_, i) => traced.length < 3 || i % 20 === 4 * style)
    .map(([a, b]) => markAt(style, a, b)).join("");
  const drawn = lines.map((line) => ({ ...line, traced: trace(line.points) }));
  const names = atEnds ? nameEnds(drawn, bottom) : nameLines(drawn, box);
  let used = left; // by the names of the marks, above the drawing
  const keys = key.map((name, style) => {
    const start = used;
    used += 34 + WORD * name.length;
    return `<g class="s${style}" ${to(start + 6, 12)}><path d="${markAt(style)}"/><text
      class="start" x="10" y="4">${name}</text></g>`;
  });
  const groups = [
    bands.map(([low, high], i) => `<path class="band b${i % 2}" d="M${left} ${Y(high)}H${right}V${
      Y(low)}H${left}z"/>`),
    yTicks.map(([v, name]) => `<g>${grid(y, `M${left} ${Y(v)}H${right}`)}
      <text class="end" x="${left - 6}" y="${Y(v) + 4}">${name}</text></g>`),
    xTicks.map(([v, name]) => `<g>${grid(x, `M${X(v)} ${top}V${bottom}`)}
      <text x="${X(v)}" y="${bottom + 17}">${name}</text></g>`),
    [`<text x="${(left + right) / 2}" y="${height - 6}">${x.label ?? ""}</text>`,
      `<text class="start" x="${left}" y="14">${y.label ?? ""}</text>`],
    area ? [`<path class="area" d="${path(trace(area))}Z"/>`] : [],
    [under?.(X, Y) ?? ""], // what only one explorer has
    at === undefined ? [] : [`<path class="at" d="M${X(at)} ${top}V${bottom}"/>`],
    drawn.map(({ style, traced }) => `<path class="line s${style}" d="${path(traced)}"/>`),
    drawn.map((line) => `<path class="spots s${line.style}" d="${spots(line)}"/>`),
    marks.map(({ style, x: a, y: b, shift = 0, field, from, move = "" }) => `<g class="s${style} ${
      field ? "handle" : move}" ${to(X(a), Y(b) + shift, from)}><path d="${markAt(style)}"/></g>`),
    names.map(({ style, name, x: a, y: b, start }) => `<text class="name s${style}${
      start ? " start" : ""}" ${to(a, b)}>${name}</text>`),
    keys,
    [],
  ];
  return { groups: groups.map((g) => g.join("")), X, Y, ...box };
}

// What a reader can point at: the values of x that have lines, or else the marks, one by one. What
// is read out there is worked out when somebody points.
const stopsOf = ({ x, y, lines = [], marks = [] }) => {
  const dot = (style, a, b, text) => ({ style, x: a, y: b, text });
  if (!lines.length) {
    return marks.map(({ style, x: a, y: b, shift = 0, name = "", text }) => ({
      x: a, y: b, shift,
      read: () => ({
        head: name, dots: [dot(style, a, b, text ?? say(x, a, x.log ? whole : fixed))],
      }),
    }));
  }
  const nearest = (points, a) =>
    points.reduce((p, q) => (Math.abs(q[0] - a) < Math.abs(p[0] - a) ? q : p));
  return E.unique(lines.flatMap(({ points }) => points.map(([a]) => a))).map((a) => ({
    x: a, shift: 0,
    read: () => ({
      head: (x.name ? `${x.name} = ` : "") + say(x, a, x.log ? whole : (v) => +v.toPrecision(3)),
      dots: lines.map(({ style, name = "", points }) => {
        const [, b] = nearest(points, a);
        return dot(style, a, b, `${name} ${say(y, b, fixed)}`);
      }),
    }),
  }));
};

// A panel draws what it is given, reads values out, and lets marks be dragged.
const HINT = "To read values, point at the drawing or tap it, or press arrow keys here.";
function drawing(panel, form, hint) {
  const [readout, svg] = panel.children;
  let spec, place, stops = [], at = -1, grip, said, shown = [];

  const cross = () => {
    const stop = stops[at], { X, Y, top, bottom } = place;
    const { head, dots = [] } = stop?.read() ?? {};
    svg.lastElementChild.innerHTML = stop ? `<path class="cross"
      d="M${X(stop.x)} ${top}V${bottom}"/>${dots.map(({ style, x, y }) =>
      `<circle class="dot s${style}" cx="${X(x)}" cy="${Y(y) + stop.shift}" r="4"/>`).join("")}` : "";
    const words = dots.map(({ style, text }) => `<b class="s${style}">${text}</b>`).join(", ");
    const saying = stop ? `${head && `${head}: `}${words}` : hint ? HINT : "";
    put(readout, "aria-valuenow", `${Math.max(at, 0)}`);
    if (saying === said) return;
    readout.innerHTML = said = saying;
    readout.setAttribute("aria-valuetext", readout.textContent || HINT);
  };
  const draw = (next, width) => {
    spec = next;
    const { height: usual = 300, small = 210 } = spec;
    const height = width < 480 ? Math.min(usual, small) : usual;
    place = layOut(spec, width, height);
    put(svg, "viewBox", `0 0 ${width} ${height}`);
    put(svg, "aria-label", `${spec.x.label ?? spec.y.label}: ${spec.text}`);
    svg.style.height = `${height}px`;
    if (!shown.length) svg.innerHTML = "<g></g>".repeat(place.groups.length);
    place.groups.forEach((group, i) => {
      if (group === shown[i]) return;
      const old = svg.children[i], now = old.cloneNode(false);
      now.innerHTML = group;
      morph(old, now);
    });
    shown = place.groups;
    stops = spec.stops ?? stopsOf(spec);
    at = Math.min(at, stops.length - 1);
    put(readout, "aria-valuemax", `${stops.length - 1}`);
    cross();
  };

  // The handle under a point, and where it is: a mark, or the dotted line if it has a field. A drawing
  // that is one large handle is everywhere.
  const handleAt = (px, py) => {
    const { X, Y } = place, { at: line, atField, anywhere, marks = [] } = spec;
    if (anywhere) return { field: atField, x: px };
    const far = ({ x, y }) => Math.hypot((X(x) - px) / 2, Y(y) - py);
    const near = marks.filter((mark) => mark.field && far(mark) < 16)
      .sort((a, b) => far(a) - far(b))[0];
    if (near) return { field: near.field, x: X(near.x) };
    if (atField && Math.abs(X(line) - px) < 22) return { field: atField, x: X(line) };
  };
  const valueAt = (px) => {
    const { min, max, log, values } = spec.x, { left, right, X } = place;
    const far = ([x]) => Math.abs(X(x) - px);
    if (values) return values.reduce((a, b) => (far(b) < far(a) ? b : a))[1];
    const part = Math.min(Math.max((px - left) / (right - left), 0), 1);
    return log ? Math.round(min * (max / min) ** part) : (min + part * (max - min)).toFixed(3);
  };
  const point = (px, py) => {
    const { X, Y } = place, sideways = spec.lines?.length || spec.anywhere;
    const far = ({ x, y, shift }) =>
      (sideways ? Math.abs(X(x) - px) : Math.hypot(X(x) - px, Y(y) + shift - py));
    at = stops.reduce((best, stop, i) => (best < 0 || far(stop) < far(stops[best]) ? i : best), -1);
    cross();
  };
  const enter = (field, value) => {
    const control = form.elements[field];
    if (control.value === value) return;
    control.value = value;
    control.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const listen = (name, f) => svg.addEventListener(name, (event) => {
    const box = svg.getBoundingClientRect();
    if (event.isPrimary) f(event.clientX - box.left, event.clientY - box.top, event);
  });
  // What a pointer holds stays as far from it as it was. A finger holds nothing before it has gone
  // more sideways than down, as it may only scroll the page; then the browser takes it away, and
  // what was there before comes back.
  const hold = (px, py) => {
    grip.moves = true;
    svg.classList.toggle("held", !!grip.field);
    if (grip.field) move(px, py);
    else point(px, py);
  };
  const move = (px, py) => {
    if (px !== grip.px || spec.anywhere) enter(grip.field, `${valueAt(px + grip.x - grip.px)}`);
    if (spec.anywhere) point(px, py);
  };
  listen("pointerdown", (px, py, { pointerId, pointerType }) => {
    const handle = handleAt(px, py);
    grip = { px, py, at, before: form.elements[handle?.field]?.value, ...handle };
    if (handle) svg.setPointerCapture(pointerId);
    if (pointerType !== "touch") hold(px, py);
  });
  listen("pointermove", (px, py) => {
    if (grip && !grip.moves) {
      const aside = Math.abs(px - grip.px);
      if (aside > 4 && aside > Math.abs(py - grip.py)) hold(px, py);
    } else if (grip?.field) move(px, py);
    else {
      svg.classList.toggle("grab", !!handleAt(px, py));
      point(px, py);
    }
  });
  const release = () => { grip = undefined; svg.classList.remove("held"); };
  listen("pointerup", (px, py) => {
    if (grip && !grip.moves) { // a tap
      if (spec.anywhere) move(px, py);
      point(px, py);
    }
    release();
  });
  listen("pointercancel", () => {
    if (!grip) return;
    if (grip.field) enter(grip.field, grip.before);
    at = grip.at;
    cross();
    release();
  });
  listen("pointerleave", (px, py, { pointerType }) => {
    if (grip?.field || pointerType === "touch") return; // what a finger showed stays
    at = -1;
    cross();
  });
  readout.addEventListener("keydown", (event) => {
    const last = stops.length - 1, ten = Math.ceil(last / 10);
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: ten,
      PageDown: -ten, Home: -last - 1, End: last + 1 }[event.key];
    if (event.key === "Escape") at = -1;
    else if (step) at = Math.min(Math.max(at + step, 0), last);
    else return;
    event.preventDefault();
    cross();
  });
  return draw;
}

Object.assign(E, { drawing });
})();
