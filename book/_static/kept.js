// What a reader has answered, if the browser keeps it: entries by exercise, choices by quiz, and
// the pages all of whose exercises are solved. The sidebar marks these, and the quizzes that are done.
globalThis.kept = (() => {
"use strict";
const STORE = "sampled-metrics-exactly: answers";
const all = () => {
  try {
    return JSON.parse(localStorage.getItem(STORE)) ?? {};
  } catch {
    return {};
  }
};
const put = (changes) => { // what is undefined is forgotten
  try {
    localStorage.setItem(STORE, JSON.stringify({ ...all(), ...changes }));
  } catch {
    return; // Answers are checked all the same.
  }
  dispatchEvent(new Event("kept"));
};
const pageOf = ({ pathname }) => pathname.split("/").at(-1).replace(".html", "");
const mark = () => {
  const answers = all();
  for (const link of document.querySelectorAll(".bd-links a")) {
    const page = pageOf(link), choices = answers[page.replace("part-", "quiz-")] ?? [null];
    link.classList.toggle("done", answers[page] === "solved" || !choices.includes(null));
  }
};
addEventListener("kept", mark);
addEventListener("pageshow", mark);
return { all, pageOf, put };
})();
