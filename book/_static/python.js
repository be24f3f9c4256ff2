/* Python in the page: cells that need NumPy only, the explorers' Python, and scratch pads can be
   run, and edited. Nothing is loaded before somebody asks for it, and the page says how much. */
(() => {
"use strict";
const { src, dataset: { bytes } } = document.currentScript, folder = new URL("python/", src);
const size = `${Math.round(bytes / 1e6)} MB`;
const make = (tag, properties, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

// --- one Python for the page, which answers one call after the other

let worker, waiting = [];
const progress = make("progress", { max: bytes, ariaLabel: "Python loads" });
const stop = (said) => {
  worker?.terminate();
  worker = undefined;
  for (const one of texts) one.hasRun = false;
  const all = waiting;
  waiting = [];
  for (const tell of all) tell(said);
};
const start = () => {
  try { // a page that is opened as a file may not
    worker = new Worker(new URL("worker.js", folder));
  } catch ({ message }) { return message; }
  worker.addEventListener("message", ({ data }) => {
    if (data.loaded) progress.value = data.loaded;
    else if (data.broken === undefined) waiting.shift()?.(data);
    else stop(data); // the next run tries again
  });
  worker.addEventListener("error", ({ message }) => stop({ broken: message ?? "not found" }));
  return "";
};
const ask = (call, code) => new Promise((tell) => {
  const broken = worker ? "" : start();
  if (broken) { tell({ broken }); return; }
  waiting.push(tell);
  worker.postMessage({ call, code });
});

// --- what can be run: the setup's imports, then the cells of the page from top to bottom, and
// each of the others for itself

const texts = [], cells = [];
const add = (code, call = "run") => {
  const one = { code, call, hasRun: false };
  texts.push(one);
  return one;
};
let turn = Promise.resolve();

async function runAll(one, status) {
  const above = cells.slice(0, Math.max(cells.indexOf(one), 0)).filter(({ hasRun }) => !hasRun);
  status(worker ? "Running …" : `Python loads (${size}) and starts. That takes some seconds …`);
  for (const each of [...above, one]) {
    const said = await ask(each.call, each.code());
    if (said.broken) return said;
    if (said.failed) return { ...said, text: `${each === one ? "" : "Above: "}${said.text}` };
    each.hasRun = true;
    if (each === one) return said;
    status("Running what stands above …");
  }
}

// The buttons of a text, and a place for what it prints.
function makeRunner(one, ...buttons) {
  const status = make("span", { role: "status" });
  const printed = make("pre", { hidden: true, ariaLabel: "What Python printed" });
  const go = make("button", { type: "button", textContent: "Run" });
  const halt = make("button", { type: "button", textContent: "Stop", disabled: true });
  const say = (words) => { status.textContent = words; };
  say(`The first run loads ${size} of Python.`);
  const show = ({ text = "", failed = false, broken }, seconds) => {
    say(broken !== undefined
      ? `Python did not start (${broken}). It needs a page from a web server.`
      : failed ? "It ended early." : `Done in ${seconds} s${text ? "" : ", and nothing printed"}.`);
    printed.textContent = text;
    printed.hidden = !text;
    printed.classList.toggle("failed", failed);
    const { scrollWidth, clientWidth, scrollHeight, clientHeight } = printed;
    printed.tabIndex = -(scrollWidth <= clientWidth && scrollHeight <= clientHeight);
  };
  const run = () => {
    halt.disabled = false;
    turn = turn.then(async () => {
      const begun = performance.now();
      if (!worker) status.before(progress);
      const said = await runAll(one, say);
      progress.remove();
      halt.disabled = true;
      show(said, ((performance.now() - begun) / 1000).toFixed(1));
    });
  };
  go.addEventListener("click", run);
  halt.addEventListener("click", () =>
    stop({ text: "Stopped. The next run starts Python anew.\n", failed: true }));
  return { go, run, forget: () => { say(""); printed.hidden = true; },
    runner: make("div", { className: "python" },
      make("div", { className: "buttons" }, go, halt, ...buttons, status), printed) };
}

// In the place of a text that is only shown, a field to edit it in. Control and Enter run it.
function makeEditor(place, one) {
  const before = one.code().trimEnd();
  const field = make("textarea",
    { value: before, spellcheck: false, autocapitalize: "off", ariaLabel: "Python to edit" });
  const grow = () => { field.rows = field.value.split("\n").length; };
  const reset = make("button", { type: "button", textContent: "Reset" });
  const { go, run, runner } = makeRunner(one, reset);
  const change = () => {
    one.hasRun = false;
    grow();
  };
  field.addEventListener("input", change);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    run();
  });
  reset.addEventListener("click", () => {
    field.value = before;
    change();
  });
  one.code = () => field.value;
  grow();
  runner.prepend(field);
  place.replaceChildren(runner);
  return { go, run };
}

const setup = document.querySelector(".cell.tag_hide-input .cell_input pre");
if (setup) cells.push(add(() => setup.textContent, "import_what_is_here"));
for (const cell of document.querySelectorAll(".cell.tag_in-page")) {
  const input = cell.querySelector(".cell_input"), shown = input.querySelector("pre").textContent;
  const one = add(() => shown);
  cells.push(one);
  const button = make("button", { type: "button", textContent: "Edit and run" });
  button.addEventListener("click", () => {
    const { go, run } = makeEditor(input, one);
    run();
    go.focus(); // and not the field, which brings a phone's keyboard up
  });
  input.append(make("div", { className: "python closed" }, button));
}
for (const pad of document.querySelectorAll(".scratch-pad")) {
  const shown = pad.textContent;
  makeEditor(pad, add(() => shown));
}
addEventListener("DOMContentLoaded", () => { // the explorers are drawn
  for (const shown of document.querySelectorAll(".explorer details pre")) {
    if (/import pandas|from_model/.test(shown.textContent)) continue; // needs more than NumPy
    const { forget, runner } = makeRunner(add(() => shown.textContent));
    shown.after(runner);
    for (const name of ["input", "reset"]) { // what it printed was for other values
      shown.closest(".explorer").addEventListener(name, forget);
    }
  }
});
})();
