/* Put the explorers of a page to work. */
(() => {
"use strict";
const { kinds, makeDraggable, plot, refuse } = globalThis.explorers;

const fillIn = (table, [head, ...rows]) => {
  table.tBodies[0].innerHTML = `<tr>${head.map((c) => `<th scope="col">${c}`).join("")}</tr>${
    rows.map(([first, ...rest]) =>
      `<tr><th scope="row">${first}</th>${rest.map((c) => `<td>${c}`).join("")}</tr>`).join("")}`;
  const { scrollWidth, clientWidth, scrollHeight, clientHeight } = table.parentElement;
  // what scrolls must do so from the keyboard
  table.parentElement.tabIndex = -(scrollWidth <= clientWidth && scrollHeight <= clientHeight);
};

function start(figure) {
  const kind = kinds[figure.dataset.explorer];
  const stored = figure.querySelector("[type='application/json']");
  const data = stored && JSON.parse(stored.textContent);
  const body = figure.querySelector(".explorer-body");
  body.innerHTML = `<form novalidate autocomplete="off">${
    typeof kind.controls === "string" ? kind.controls : kind.controls(data)}
    <div><button type="reset">Reset</button></div></form><div class="results">
    <p aria-live="polite"><strong class="verdict"></strong> <span></span></p>
    <div class="panels">${'<svg role="img"></svg>'.repeat(kind.panels || 1)}</div>
    ${kind.tables.map((caption) => `<div class="scrolls" role="region" aria-label="${caption}">
    <table><caption>${caption}</caption><tbody></tbody></table></div>`).join("")}</div>`;
  const [form, { children: [answer, { children: panels }] }] = body.children, { elements } = form;
  const [verdict, sentence] = answer.children;
  const tables = body.querySelectorAll("table"), error = document.createElement("p");
  error.id = `${figure.id}-error`;
  error.setAttribute("role", "alert");

  // Read all controls by name, and move the sliders to the numbers.
  const read = () => {
    const values = {};
    for (const { name, value } of elements) if (name) values[name] = value;
    const idle = kind.idle?.(values) ?? []; // these have no say now
    for (const field of elements) {
      field.disabled = idle.includes(field.name);
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
    let found = { verdict: "", sentence: "", plots: [], tables: [] };
    const wrong = form.querySelector("[aria-invalid]");
    for (const name of ["aria-invalid", "aria-describedby"]) wrong?.removeAttribute(name);
    try {
      found = kind.show(read(), data);
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
    verdict.textContent = found.verdict ?? "";
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

// All scripts of the explorers are deferred, and have run by then.
addEventListener("DOMContentLoaded", () => document.querySelectorAll(".explorer").forEach(start));
})();
