// Five users with lists of their own, and every metric in every dialect.
(() => {
"use strict";
const M = sampledMetrics, E = explorers, { fixed } = E;
const USERS = [["1, 2, 3, 4, 5, 6", "1, 6, 8"], ["2, 4, 6", "1, 2, 3, 4, 5"], ["2, 4, 6", ""],
  ["", "1, 2, 3, 4"], ["", ""]];
const EMPTY = [["left out", NaN], ["0", 0], ["1", 1]];
const METRICS = ["AP", "Precision", "Recall", "F1", "NDCG", "RR", "Hit rate"];

const show = (form) => {
  const items = (field) => {
    try { return M.parseItems(form[field]); } catch (e) { return E.refuse(field, `${e.message}.`); }
  };
  const users = USERS.map((_, i) =>
    M.fromRecommendations(items(`predictions${i}`), items(`labels${i}`)));
  const rows = M.dialects(form.k).map(([name, by, metric]) => {
    const values = users.map((user) => metric(user));
    return [name, by, values, EMPTY.map(([, empty]) => M.mean(values, empty))];
  });
  const names = [...new Set(rows.map(([name]) => name))];
  const chosen = rows.filter(([name]) => name === form.metric);
  const spans = names.map((name) => {
    const all = rows.flatMap((row) => (row[0] === name ? row[3] : [])).filter((v) => !isNaN(v));
    return `${name} ${fixed(Math.min(...all))} to ${fixed(Math.max(...all))}`;
  });
  const agree = names.every((name) => new Set(rows.flatMap((row) =>
    (row[0] === name ? row[3].map((v) => fixed(v)) : []))).size === 1);
  return {
    verdict: agree ? "Dialects agree" : "Dialects differ",
    tone: agree ? "good" : "open",
    sentence: `The same lists, k = ${form.k}, mean in all dialects: ${spans.join(", ")}.`,
    plots: [{
      height: 380, small: 300, key: EMPTY.map(([rule], i) => (i ? rule : `no labels: ${rule}`)),
      x: { min: 0, max: 1, label: "mean over users" },
      y: { min: -6.6, max: 0.6, ticks: names.map((name, i) => [-i, name]) },
      bands: names.map((_, i) => [-i - 0.5, -i + 0.5]),
      marks: rows.flatMap(([name, by, , means]) => means.map((x, i) => ({
        style: i, x, y: -names.indexOf(name), shift: 8 * (i - 1),
        name: `${name}, divided by ${by}, no labels ${EMPTY[i][0]}`,
      }))).filter(({ x }) => x >= 0),
    }],
    tables: [[[`${form.metric} divided by`, ...chosen.map(([, by]) => by)],
      ...USERS.map((_, i) => [`user ${i + 1}`, ...chosen.map((row) => fixed(row[2][i]))]),
      ...EMPTY.map(([rule], i) =>
        [`mean, ${rule}`, ...chosen.map((row) => fixed(row[3][i]))])]],
  };
};

const listed = (form, name) =>
  USERS.map((_, i) => `[${M.parseItems(form[name + i]).join(", ")}]`).join(", ");

E.add("five-users", {
  controls: E.number("k", "cutoff k", 3, 1, 100, 100)
    + E.select("metric", "metric in the table", METRICS)
    + E.folded("The lists of the five users", USERS.map((lists, i) =>
      `<fieldset><legend>user ${i + 1}</legend>${["labels", "predictions"].map((name, j) =>
        `<label>${name} ${E.textIn(name + i, `${name} of user ${i + 1}`, lists[j], "text")}</label>`)
        .join("")}</fieldset>`).join("")),
  tables: ["Each user, and the mean where users without labels are left out, count 0, or count 1"],
  python: (form) => E.code(`labels = [${listed(form, "labels")}]
predictions = [${listed(form, "predictions")}]
users = Ranks.from_recommendations(predictions, labels)
k = ${form.k}
for metric in (
    Precision(k), Precision(k, denominator="predicted"), Recall(k, denominator="capped"),
    Recall(k), Recall(k, denominator="capped"), F1(k),
    AveragePrecision(k, denominator="relevant"), AveragePrecision(k),
    AveragePrecision(k, denominator="hits"), AveragePrecision(k, denominator="predicted"),
    NDCG(k), NDCG(k, ideal="hits"), NDCG(k, ideal="full"), ReciprocalRank(k),
):
    means = metric.mean(users), metric.mean(users, empty=0), metric.mean(users, empty=1)
    print(metric, *(f"{value:.3f}" for value in (*metric(users), *means)))`),
  show,
});
})();
