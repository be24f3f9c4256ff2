/* Put the explorers of a page to work: read the controls, show the result, keep the address. */
(() => {
"use strict";
const { drawing, kinds, refuse } = explorers;

const PANEL = `<div class="panel"><p class="readout" role="slider" tabindex="0"
  aria-label="values in the drawing" aria-valuemin="0"></p><svg role="img"></svg></div>`;
const page = (kind, data) => `<div class="play"><div class="stage"><p class="verdict"
    role="status"></p>${kind.actions ?? ""}${PANEL}</div><div class="more"><p class="sentence"
    aria-live="polite"></p>${PANEL.repeat((kind.panels ?? 1) - 1)}</div><form novalidate
    autocomplete="off">${
  kind.presets ? `<div class="wide"><label>example <select class="presets"><option>choose one</option>
    ${kind.presets.map(([name]) => `<option>${name}`).join("")}</select></label></div>` : ""}${
  typeof kind.controls === "string" ? kind.controls : kind.controls(data)}
    <div class="wide actions"><button type="reset">Reset</button><button type="button"
    class="link">Copy link</button></div></form></div><div class="how"></div><div class="rest">${
  (kind.texts ?? []).map((title) => `<div class="text"><p><strong>${title}</strong></p>
    <button type="button">Copy</button><pre tabindex="0"></pre></div>`).join("")}${
  kind.tables.map((caption) => `<div class="scrolls" role="region" aria-label="${caption}">
    <table><caption><span>${caption}</span></caption><tbody></tbody></table></div>`).join("")}${
  kind.python ? `<details><summary>As Python</summary><button type="button"
    class="code">Copy as Python</button><pre tabindex="0"></pre></details>` : ""}</div>`;

// Fill a table row by row, and touch only the cells that change.
const cell = (i, j) => {
  const one = document.createElement(i && j ? "td" : "th");
  if (!i || !j) one.scope = i ? "row" : "col";
  one.append("");
  return one;
};
const trim = (list, length) => { while (list.length > length) list[length].remove(); };
const fillIn = (table, rows) => {
  const [body] = table.tBodies;
  rows.forEach((texts, i) => {
    const { cells } = body.rows[i] ?? body.insertRow();
    texts.forEach((text, j) => {
      const { firstChild: now } = cells[j] ?? body.rows[i].appendChild(cell(i, j));
      if (now.data !== `${text}`) now.data = text;
    });
    trim(cells, texts.length);
  });
  trim(body.rows, rows.length);
};
// What scrolls must do so from the keyboard. Sizes are read after the page is laid out.
const reachable = new ResizeObserver((changes) => {
  for (const region of new Set(changes.map(({ target }) => target.closest(".scrolls")))) {
    const { scrollWidth, clientWidth, scrollHeight, clientHeight } = region;
    region.tabIndex = -(scrollWidth <= clientWidth && scrollHeight <= clientHeight);
  }
});

// Copy a text, and say so on the button; where the browser does not allow it, say where to find it.
const copy = async (button, text, otherwise, done = "Copied") => {
  const name = (button.dataset.name ??= button.textContent); // once, or it would be "Copied"
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = done;
  } catch { button.textContent = otherwise; }
  setTimeout(() => { button.textContent = name; }, 2000);
};

// Only what is not the default is part of an address: page.html?m=20&metric=AP#explorer-toy
const LONG = 4000; // letters, which no address takes
const changed = (fields) => fields.filter((f) => (f.type === "checkbox"
  ? f.checked !== f.defaultChecked : f.options
    ? f.selectedIndex !== Math.max([...f.options].findIndex((o) => o.defaultSelected), 0)
    : f.value !== f.defaultValue));
const setTo = (field, text) => {
  if (field.type === "checkbox") field.checked = `${text}` === "true";
  else if (!field.options || [...field.options].some(({ value }) => value === `${text}`)) {
    field.value = text; // and not what a list does not offer
  }
};
const isLong = (field) => field.held || field.value.length > LONG;
// What is secret stands behind the #, which browsers send to nobody.
const addressOf = (figure, fields, isSecret) => {
  const url = new URL(location.href), state = new URLSearchParams(changed(fields)
    .filter((f) => !isLong(f)).map((f) => [f.name, f.type === "checkbox" ? f.checked : f.value]));
  url.search = isSecret ? "" : state;
  url.hash = isSecret && state.size ? `${figure.id}?${state}` : figure.id;
  return url;
};

function start(figure, place) {
  const kind = kinds[figure.dataset.explorer];
  const stored = figure.querySelector("[type='application/json']");
  const data = stored && JSON.parse(stored.textContent);
  const body = figure.querySelector(".explorer-body"), $ = (query) => body.querySelector(query);
  body.innerHTML = page(kind, data);
  // The verdict comes first, then the drawing, and then what to know of it.
  $(".how").append(...figure.querySelectorAll("figcaption > :not(.title)"));
  const form = $("form"), presets = $(".presets"), { elements } = form;
  const fields = [...elements].filter(({ name }) => name);
  const boxes = [...body.querySelectorAll(".panel")];
  const panels = boxes.map((panel, i) => drawing(panel, form, place + i === 0)); // one hint a page
  const tables = body.querySelectorAll("table");
  for (const part of body.querySelectorAll(".scrolls, .scrolls table")) reachable.observe(part);
  const error = document.createElement("p");
  error.id = `${figure.id}-error`;
  error.setAttribute("role", "alert");
  // Read when the size has changed, and not at each step, where it costs a layout.
  const widthsNow = () => boxes.map(({ clientWidth }) => clientWidth);
  let values, over, widths = widthsNow();

  // Read all controls by name, and move the sliders to the numbers.
  const read = () => {
    const found = Object.fromEntries(fields.map(({ name, value, held }) => [name, held ?? value]));
    const idle = kind.idle?.(found) ?? []; // these have no say now
    for (const field of fields) field.disabled = idle.includes(field.name);
    for (const field of elements) {
      const { type, name, value, min, max, step, dataset: { moves, stops } } = field;
      if (moves) {
        field.disabled = idle.includes(moves);
        field.value = stops.split(",").findLastIndex((v) => v <= found[moves]);
        field.setAttribute("aria-valuetext", found[moves]);
      } else if (name) found[name] = { checkbox: field.checked, number: +value }[type] ?? found[name];
      if (type !== "number" || field.disabled) continue;
      const isWhole = step !== "any", pointed = isWhole && value.includes("."); // 10.000 is 10
      if (!value || !field.validity.valid || pointed) {
        refuse(name, `A ${isWhole ? "whole " : ""}number from ${min} to ${max}${
          pointed ? ", without point or comma" : ""}, please.`);
      }
    }
    return found;
  };

  // With a wrong input the last result stays, dimmed, and out of reach for those who cannot see it.
  const dim = (wrong) => {
    body.classList.toggle("refused", wrong);
    for (const part of body.querySelectorAll(".panel, .rest")) part.inert = wrong;
  };
  const judge = (verdict, tone = "") => {
    $(".verdict").textContent = verdict;
    $(".verdict").dataset.tone = tone; // good, bad or open
  };
  const show = ({ verdict = "", tone, sentence, plots, tables: rows, texts = [], ...result }) => {
    over = result.over;
    dim(false);
    error.remove();
    judge(verdict, tone);
    $(".sentence").textContent = sentence;
    $(".sentence").style.minHeight = "";
    plots.forEach((spec, i) => panels[i]({ text: sentence, ...spec }, widths[i] || 600));
    rows.forEach((table, i) => fillIn(tables[i], table));
    texts.forEach((text, i) => { body.querySelectorAll(".text pre")[i].textContent = text; });
    if (kind.python) {
      const code = $(".rest details pre").textContent = kind.python(values, data);
      $(".rest details").classList.toggle("pandas", code.includes("import pandas"));
    }
  };
  const complain = (field, message) => {
    dim(true);
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-describedby", error.id);
    field.closest("details")?.setAttribute("open", "");
    field.closest("fieldset, div").append(error);
    error.textContent = message;
    judge("No result");
    const { height } = $(".sentence").getBoundingClientRect();
    $(".sentence").style.minHeight = `${height}px`; // or the field would move
    $(".sentence").textContent = "What is dimmed belongs to the last valid input.";
  };
  // The example that the controls are now; of several, the one that was chosen.
  const nameExample = () => {
    const fits = ([, wanted]) =>
      Object.entries(wanted).every(([name, value]) => `${values[name]}` === `${value}`);
    const chosen = kind.presets[presets.selectedIndex - 1];
    if (!chosen || !fits(chosen)) presets.selectedIndex = kind.presets.findIndex(fits) + 1;
  };
  const stop = (problem) => {
    const field = elements[problem.field];
    if (!field) throw problem;
    if (presets) presets.selectedIndex = 0;
    complain(field, problem.message);
  };
  // What takes long rests every few milliseconds, so that the page stays alive, and never comes
  // back where something newer has begun.
  let run = 0;
  const restOf = (own) => {
    let since = performance.now();
    return async () => {
      if (performance.now() - since < 8) return;
      await new Promise((resume) => { setTimeout(() => own === run && resume()); });
      since = performance.now();
    };
  };
  const refresh = () => {
    const wrong = form.querySelector("[aria-invalid]"), own = run += 1;
    for (const name of ["aria-invalid", "aria-describedby"]) wrong?.removeAttribute(name);
    body.ariaBusy = false;
    try {
      values = read();
      if (presets) nameExample();
      const found = kind.show(values, data, restOf(own));
      if (!found.then) return void show(found);
      body.ariaBusy = true;
      const ended = (f) => (result) => {
        if (own !== run) return;
        body.ariaBusy = false;
        f(result);
      };
      found.then(ended(show), ended(stop));
    } catch (problem) { stop(problem); }
  };

  let frame, keeping;
  const soon = () => { cancelAnimationFrame(frame); frame = requestAnimationFrame(refresh); };
  const change = () => history.replaceState(history.state, "", addressOf(figure, fields, kind.secret));
  const keep = () => { // browsers allow a few changes of the address in a second
    if (location.hash.startsWith("#/")) return; // a slide has its own
    clearTimeout(keeping);
    keeping = setTimeout(change, 300);
  };
  // Some browsers drop a comma that is typed or pasted into a number: 0,1 became 01.
  form.addEventListener("beforeinput", (event) => {
    const { data, target: { type } } = event;
    if (type !== "number" || !data?.includes(",")) return;
    event.preventDefault();
    document.execCommand("insertText", false, data.replaceAll(",", "."));
  });
  form.addEventListener("input", ({ target: { value, dataset: { moves, stops } } }) => {
    if (moves) elements[moves].value = stops.split(",")[value];
    soon();
    keep();
  });
  presets?.addEventListener("change", () => {
    const { selectedIndex } = presets, [, wanted] = kind.presets[selectedIndex - 1] ?? [];
    for (const [name, value] of Object.entries(wanted ?? {})) setTo(elements[name], value);
    soon();
    keep();
  });
  const enter = (field, value) => {
    field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  };
  for (const button of body.querySelectorAll("[data-adds]")) {
    const field = elements[button.dataset.adds];
    button.addEventListener("click", () =>
      enter(field, Math.min(+field.value + +button.value, field.max)));
  }
  for (const button of body.querySelectorAll("[data-plays]")) {
    const field = elements[button.dataset.plays];
    const stops = form.querySelector(`[data-moves="${field.name}"]`).dataset.stops.split(",");
    const quick = matchMedia("(prefers-reduced-motion: reduce)");
    let timer;
    const play = (i) => {
      enter(field, stops[i]);
      timer = setTimeout(() => {
        if (over || i + 1 >= stops.length) enter(field, stops.at(-1));
        else play(i + 1);
      }, 80);
    };
    const stop = ({ isTrusted }) => { if (isTrusted) clearTimeout(timer); };
    for (const name of ["input", "reset", "change"]) form.addEventListener(name, stop);
    button.addEventListener("click", () => {
      clearTimeout(timer);
      play(quick.matches ? stops.length - 1 : 0);
    });
  }
  form.addEventListener("reset", () => { setTimeout(refresh); keep(); });
  $(".link").addEventListener("click", ({ target }) => {
    change();
    copy(target, location.href, "It is in the address bar",
      fields.some(isLong) ? "Copied, but for the long text" : "Copied");
  });
  $(".code")?.addEventListener("click", ({ target }) =>
    copy(target, $(".rest details pre").textContent, "Mark and copy the lines"));
  for (const part of body.querySelectorAll(".text")) {
    const [, button, text] = part.children;
    button.addEventListener("click", () => copy(button, text.textContent, "Mark and copy it"));
  }
  kind.wire?.(form);
  const [named, state] = location.hash.slice(1).split("?");
  const linked = named === figure.id ? new URLSearchParams(state ?? location.search) : [];
  refresh(); // at once, for links into the page
  for (const [field, text] of linked) if (elements[field]?.name) setTo(elements[field], text);
  if (changed(fields).length) refresh();
  if (state && named === figure.id) figure.scrollIntoView();
  if (kind.secret) {
    addEventListener("hashchange", () => location.hash.includes("?") && location.reload());
  }
  // What is folded opens where the controls have a place beside the drawing, or were not left alone.
  const beside = widths[0] < 0.8 * body.clientWidth;
  for (const fold of form.querySelectorAll("details")) {
    fold.open = beside || changed(fields).some((field) => fold.contains(field));
  }
  new ResizeObserver(() => {
    const before = widths;
    widths = widthsNow();
    body.style.setProperty("--stage", `${$(".stage").offsetHeight}px`);
    if (widths.some((width, i) => width !== before[i])) soon();
  }).observe(figure);
}

// All scripts of the explorers are deferred, and have run by then.
addEventListener("DOMContentLoaded", () => document.querySelectorAll(".explorer").forEach(start));
})();
