// The quizzes: the first answer that one opens is one's choice, and counts. It is kept.
(() => {
"use strict";
const { kept } = globalThis;
const quiz = kept.pageOf(location).replace("part-", "quiz-");
const questions = [...document.querySelectorAll("#quiz > section")]
  .map((section) => [...section.querySelectorAll("details")])
  .filter((answers) => answers.length);
if (!questions.length) return;
const isRight = (answer) => /^\s*Right:/.test(answer.querySelector(".sd-summary-content").textContent);
const titleOf = (answer) => answer.querySelector(".sd-summary-text").textContent.trim();
const chosen = new Map(); // by the place of the question

const status = document.createElement("p");
status.setAttribute("role", "status");
const again = document.createElement("button");
again.type = "button";
again.textContent = "Start again";

function score() {
  const right = [...chosen.values()].filter(isRight).length, left = questions.length - chosen.size;
  status.textContent = chosen.size
    ? `Right at the first choice: ${right} of ${chosen.size}. Questions left: ${left}.` : "";
  again.hidden = !chosen.size;
}

function choose(number, answer) {
  if (chosen.has(number)) return;
  chosen.set(number, answer);
  kept.put({ [quiz]: questions.map((_, i) => (chosen.has(i) ? titleOf(chosen.get(i)) : null)) });
}

questions.forEach((answers, number) => answers.forEach((answer) => {
  const verdict = document.createElement("span");
  verdict.className = "verdict";
  answer.querySelector("summary").prepend(verdict);
  answer.classList.add("choice");
  answer.addEventListener("toggle", () => {
    if (!answer.open) return;
    const right = isRight(answer);
    verdict.textContent = right ? "✓ Right" : "✗ Wrong";
    answer.classList.add(right ? "right" : "wrong");
    choose(number, answer);
    score();
  });
}));

function startAgain() {
  chosen.clear();
  for (const answer of questions.flat()) {
    answer.open = false;
    answer.classList.remove("right", "wrong");
    answer.querySelector(".verdict").textContent = "";
  }
  score();
}

again.addEventListener("click", () => {
  startAgain();
  kept.put({ [quiz]: undefined });
  questions[0][0].querySelector("summary").focus();
});
addEventListener("kept", () => { // what the page's other button forgets
  if (chosen.size && !(quiz in kept.all())) startAgain();
});

const box = document.createElement("div");
box.className = "quiz-score";
box.append(status, again);
document.getElementById("quiz").append(box);
score();
const before = kept.all()[quiz];
questions.forEach((answers, number) => {
  const answer = answers.find((one) => titleOf(one) === before?.[number]);
  if (answer) answer.open = true; // and is chosen again
});
})();
