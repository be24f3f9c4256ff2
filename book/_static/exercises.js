// The exercises: fields for an answer, what is right of it, and what was answered before.
(() => {
"use strict";
const { judge, told } = globalThis.answers;
const { kept } = globalThis;
const isSolved = (answer, entries) =>
  Array.isArray(entries) && judge(answer, entries.map(String)).every(Boolean)
    && entries.length === answer.accepted.length;
const isDone = ({ dataset: { answer, exercise } }) =>
  isSolved(JSON.parse(answer), kept.all()[exercise]);

// --- the fields of an exercise

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function makeField(answer, place, label, id) {
  // A phone's keys for numbers have no minus, and whether it is needed should not be told.
  const signed = answer.accepted.flat().some((end) => end < -1e-9);
  const inputMode = Array.isArray(answer.accepted[place]) && !signed ? "decimal" : "text";
  const field = typeof answer.accepted[place] === "boolean"
    ? make("select", {}, ...["", "True", "False"].map((text) => make("option", { textContent: text })))
    : make("input", { type: "text", inputMode, autocomplete: "off", spellcheck: false, autocapitalize: "off" });
  const verdict = make("span", { className: "verdict", id: `${id}-${place}` });
  field.setAttribute("aria-describedby", verdict.id);
  const unit = answer.percent ? " (percent)" : "";
  return [field, verdict, make("div", {}, make("label", {}, `${label}${unit} `, field), verdict)];
}

function showVerdict(verdict, right) {
  verdict.textContent = right === null ? "" : right ? "✓ right" : "✗ not yet";
  verdict.className = `verdict ${right === null ? "" : right ? "right" : "wrong"}`;
}

function fill(box) {
  const answer = JSON.parse(box.dataset.answer), name = box.dataset.exercise;
  const fields = answer.labels.map((label, place) => makeField(answer, place, label, name));
  const status = make("p", { role: "status" });
  const entries = () => fields.map(([field]) => field.value);

  function check() {
    const right = judge(answer, entries());
    fields.forEach(([, verdict], place) => showVerdict(verdict, right[place]));
    status.textContent = told(answer, entries());
    box.classList.toggle("solved", right.every(Boolean));
  }
  const typed = fields.some(([field]) => field.matches("input"));
  const form = make("form", {}, ...fields.map(([, , row]) => row),
    make("button", { textContent: "Check" }),
    make("span", { className: "note", hidden: !typed, textContent: "If it is a number, three digits are enough." }),
    status);
  const title = box.closest(".exercise").querySelector(".caption-number").textContent.trim();
  form.setAttribute("aria-label", `Your answer to ${title}`);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    check();
    const now = entries();
    // A right answer stays, whatever is tried after it.
    if (isSolved(answer, now) || !isSolved(answer, kept.all()[name])) kept.put({ [name]: now });
    noteIfSolved();
  });
  fields.forEach(([field, verdict]) => field.addEventListener("input", () => {
    showVerdict(verdict, null);
    box.classList.remove("solved");
    status.textContent = "";
  }));
  box.append(form);
  const before = kept.all()[name];
  if (Array.isArray(before) && before.length === fields.length) {
    fields.forEach(([field], place) => { field.value = before[place]; });
    check();
  }
  // What the cell printed when the page was made is said by the box, and truer.
  box.previousElementSibling?.querySelector(".cell_output")?.classList.add("answered-below");
}

const boxes = [...document.querySelectorAll(".answer-box")];
function noteIfSolved() {
  if (boxes.length && boxes.every(isDone)) kept.put({ [kept.pageOf(location)]: "solved" });
}

// --- the exercises of a part

function summarize(list) {
  const links = [...list.querySelectorAll("a")];
  const names = [list.dataset.quiz, ...links.map(kept.pageOf),
    ...links.map(({ dataset }) => dataset.exercise)];
  const marks = links.map((link) => make("span", { className: "right" }));
  links.forEach((link, i) => link.after(marks[i]));
  const status = make("p", { role: "status" });
  const forget = make("button", { type: "button", textContent: "Forget my answers" });
  function update() {
    const all = kept.all();
    const solved = links.map(isDone);
    marks.forEach((mark, i) => { mark.textContent = solved[i] ? " ✓ solved" : ""; });
    status.textContent = `You have solved ${solved.filter(Boolean).length} of ${links.length} `
      + "exercises of this part. Your answers are kept in this browser and nowhere else.";
    forget.hidden = !names.some((name) => name in all);
  }
  forget.addEventListener("click", () => {
    kept.put(Object.fromEntries(names.map((name) => [name, undefined])));
  });
  list.append(status, forget);
  addEventListener("kept", update);
  addEventListener("pageshow", update);
  update();
}

boxes.forEach(fill);
noteIfSolved();
document.querySelectorAll(".exercise-list").forEach(summarize);
})();
