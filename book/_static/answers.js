// Which entries of an answer are right: the rules of sampled_metrics_book.Answer, in the browser.
(() => {
"use strict";

// --- digests

// The browser's own SHA-256 is missing from pages that plain HTTP serves from another machine.
const primes = [];
for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
const fraction = (x) => ((x % 1) * 2 ** 32) | 0;
const CONSTANTS = primes.map((p) => fraction(Math.cbrt(p)));
const START = primes.slice(0, 8).map((p) => fraction(Math.sqrt(p)));
const turn = (x, n) => (x >>> n) | (x << (32 - n));

function sha256(text) {
  const message = new TextEncoder().encode(text), n = message.length;
  const bytes = new DataView(new ArrayBuffer(64 * Math.ceil((n + 9) / 64)));
  message.forEach((byte, i) => bytes.setUint8(i, byte));
  bytes.setUint8(n, 0x80);
  bytes.setUint32(bytes.byteLength - 4, 8 * n);
  const state = [...START];
  for (let block = 0; block < bytes.byteLength; block += 64) {
    const w = [];
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const old = w[i - 15], last = w[i - 2];
      w[i] = i < 16 ? bytes.getInt32(block + 4 * i)
        : (w[i - 16] + w[i - 7] + (turn(old, 7) ^ turn(old, 18) ^ (old >>> 3))
          + (turn(last, 17) ^ turn(last, 19) ^ (last >>> 10))) | 0;
      const one = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g))
        + CONSTANTS[i] + w[i];
      const two = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((x, i) => { state[i] = (state[i] + x) | 0; });
  }
  return state.map((x) => (x >>> 0).toString(16).padStart(8, "0")).join("");
}
const digest = (place, text) => sha256(`${place}: ${text}`).slice(0, 4);

// --- what a text may be taken for

const BLANKS = /[ \t\n\r\f\v\u00a0\u2000-\u200a\u202f\u3000]+/g;
const GROUPS = /([0-9])[ ,_](?=[0-9]{3}(?![0-9]))/g;
const DIGITS = "[+-]?(?:(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|nan)";
const NUMBER = RegExp(`^(${DIGITS})(?: ?/ ?(${DIGITS}))? ?(%?)$`);
// A number written with a decimal comma, or with its unit
const MISWRITTEN = /^([+-]?[0-9]*)(?:[.,]([0-9]+))?( ?%)?[^0-9]*$/;
const LETTER = /^\(?([a-z])\)$/; // a choice: (c) is c
const plain = (text) =>
  text.replace(BLANKS, " ").replace(/^ | $/g, "").toLowerCase().replace(LETTER, "$1");
const toNumber = (digits) => Number(digits.replace("inf", "Infinity"));

const unified = (text) => text.replaceAll("−", "-").replaceAll("∞", "inf");
const numberIn = (text) => NUMBER.exec(unified(text).replace(GROUPS, "$1"));

// How to write a text that seems to be meant as a number and is not read as one, or as another.
function rewritten(text) {
  const comma = /^[+-]?0+,/.test(unified(text)); // in 0,123 it is no thousands' separator
  if (!comma && numberIn(text)) return null;
  const [, whole = "", part, percent = ""] =
    MISWRITTEN.exec(comma ? unified(text) : unified(text).replace(GROUPS, "$1")) ?? [];
  return /[0-9]/.test(whole + part) ? `${whole}${part ? `.${part}` : ""}${percent.trim()}` : null;
}

function readings(entry, percent) {
  const text = plain(entry), found = numberIn(text);
  if (!found) return [text];
  const [above, below] = [toNumber(found[1]), toNumber(found[2] ?? "1")];
  if (below === 0) return [text];
  const value = above / below / (found[3] && !percent ? 100 : 1);
  return [...rounded(value), ...(Number.isInteger(value) ? [`${BigInt(value)}`] : []),
    ...(value === 0 ? ["false"] : value === 1 ? ["true"] : [])];
}

// Three significant digits, and one unit in the last of them off; ties go to the even digit.
function rounded(value) {
  if (Math.abs(value) < 1e-12) return ["0"];
  if (!Number.isFinite(value)) return [`${value}`.replace("Infinity", "inf").toLowerCase()];
  const [digits, exponent] = Math.abs(value).toExponential(60).replace(".", "").split("e");
  const [three, rest] = [Number(digits.slice(0, 3)), digits.slice(3)];
  const half = "5".padEnd(rest.length, "0");
  const up = three + (rest > half || (rest === half && three % 2 === 1));
  const [n, e] = up === 1000 ? [100, Number(exponent) + 1] : [up, Number(exponent)];
  const units = n === 100 ? [0, 1, -1, -0.1] : [0, 1, -1]; // below a power of ten it is a tenth
  return units.map((unit) => n + unit).map((m) => {
    const [shown, more] = m === 1000 ? [1, 1] : m < 100 ? [m / 10, -1] : [m / 100, 0];
    const [sign, size] = [e + more < 0 ? "-" : "+", `${Math.abs(e + more)}`.padStart(2, "0")];
    return `${value < 0 ? "-" : ""}${shown.toFixed(2)}e${sign}${size}`;
  });
}

// --- what is said of an answer

const judge = ({ digests, percent }, entries) => entries.map((entry, place) =>
  (plain(entry) === "" ? null
    : readings(entry, percent).some((text) => digest(place, text) === digests[place])));

function told(labels, right, entries) {
  if (right.every((entry) => entry === null)) return "No answer yet.";
  if (right.every(Boolean)) return "Right.";
  const advice = entries.map(plain)
    .filter((text, place) => right[place] === false && rewritten(text))
    .map((text) => `Write ${rewritten(text)}, not "${text}".`);
  if (right.length === 1) return ["Not yet.", ...advice].join(" ");
  const kinds = { Right: true, Wrong: false, "Still open": null };
  const parts = Object.entries(kinds).map(([kind, which]) =>
    [kind, labels.filter((_, place) => right[place] === which)]);
  return ["Not yet.", ...parts.filter(([, names]) => names.length)
    .map(([kind, names]) => `${kind}: ${names.join("; ")}.`), ...advice].join(" ");
}

// An entry that is True or False can be told from its digest, and chosen from a list.
const isTruth = (digests, place) =>
  ["true", "false"].some((text) => digest(place, text) === digests[place]);

globalThis.answers = { sha256, digest, readings, judge, told, isTruth };
})();
