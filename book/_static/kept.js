// What a reader has answered, if the browser keeps it: entries by exercise, choices by quiz.
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
return { all, put };
})();
