"""Grade submissions of the assignment: notebooks (.ipynb, or .md in MyST) and modules (.py).

    python grade.py submission.ipynb
    python grade.py submissions/ --out graded/

The second grades all in a folder, each a file, a zip or a folder of its own, and writes
graded/scores.csv and, for each, a page of feedback (.html) and all that is known (.json).

A submission runs in a process of its own (child.py), which this one holds to its limits of time
and memory (submission.py); it is given neither the tests (checks.py) nor the right answers.
It may do whatever you may, so run this in a container.
"""

import argparse
import csv
import html
import json
import sys
from pathlib import Path

from checks import CHECKS, RIGHT_FUNCTIONS, TASKS
from submission import Absent, Failed, Limits, Submission, read_submission

# --- Grading -------------------------------------------------------------------------------------


def failure(check, submission):
    """Return why a check fails, or None."""
    try:
        check.test(submission)
    except Failed as failed:
        return failed
    except Exception as error:  # of ours, at a result that nobody has thought of
        return Failed(f"the result cannot be compared: {type(error).__name__}: {error}")
    return None


def grade(path, limits=None, tasks=tuple(TASKS)):
    """Return the score of a submission, whatever it does."""
    path, limits, lost, results = Path(path), limits or Limits(), {}, []
    checks = [check for check in CHECKS if check.task in tasks]
    try:
        cells = read_submission(path)
    except Exception as error:  # files come damaged in many ways
        results = [(check, Failed("there is nothing to try")) for check in checks]
        note = f"It cannot be read: {type(error).__name__}: {error}"
        return report(path.name, results, [note], {"error"})
    limits.start()
    submissions = {(): Submission(cells, limits, lost)}
    try:
        for check in checks:
            failed = failure(check, submissions[()])
            earlier = tuple(right for task, right in RIGHT_FUNCTIONS.items() if task < check.task)
            if failed and earlier and not isinstance(failed, Absent):  # nobody pays twice
                if earlier not in submissions:
                    submissions[earlier] = Submission([*cells, *earlier], limits, lost)
                failed = failed if failure(check, submissions[earlier]) else None
            results.append((check, failed))
        happened = {kind for each in submissions.values() for kind in each.happened}
        return report(path.name, results, submissions[()].notes, happened)
    finally:
        for submission in submissions.values():
            submission.end()


def report(name, results, notes, happened):
    """Return the score in a form that JSON can hold."""
    outcome = next((kind for kind in ("time", "memory", "error") if kind in happened), "ok")
    checks = [
        {
            "task": check.task,
            "tries": check.tries,
            "points": 0 if failed else check.points,
            "of": check.points,
            "problem": failed.problem if failed else "",
            "expected": failed.expected if failed else "",
        }
        for check, failed in results
    ]

    def total(checks):
        return {key: sum(check[key] for check in checks) for key in ("points", "of")}

    tasks = {
        str(task): {"title": title, **total([each for each in checks if each["task"] == task])}
        for task, title in TASKS.items()
        if any(each["task"] == task for each in checks)
    }
    score = {"submission": name, **total(checks), "outcome": outcome}
    return {**score, "tasks": tasks, "checks": checks, "notes": notes}


def points_of(path, task):
    """Return the points of a task, for a cell that nbgrader runs."""
    return grade(path, tasks=[task])["points"]


# --- What students, teachers and course tools read -----------------------------------------------

PAGE = """\
<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Feedback: {name}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root {{ color-scheme: light dark }}
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 46rem; margin: auto; padding: 1rem }}
h2 {{ margin-top: 2rem }} li {{ margin: .5rem 0; overflow-wrap: anywhere }}
</style>
<h1>{name}: {points} of {of} points</h1>
<p>A program has tested your functions. A person reads your answers in words.</p>
{notes}{tasks}
</html>
"""


def in_words(check, answers):
    """Say how a check went, with or without what was expected."""
    problem = check["problem"] and check["problem"].rstrip(".") + "."
    return " ".join([problem, check["expected"] if answers else ""]).strip()


def feedback(score, answers=True):
    """Return the page that the student reads."""
    tasks = []
    for number, task in score["tasks"].items():
        checks = [check for check in score["checks"] if str(check["task"]) == number]
        items = [
            f"<li><strong>{check['points']} of {check['of']}</strong> {check['tries']}"
            f"<br>{html.escape(in_words(check, answers))}</li>"
            for check in checks
        ]
        tasks.append(
            f"<h2>Task {number}: {task['title']} ({task['points']} of {task['of']})</h2>\n"
            f"<ul>\n{''.join(items)}\n</ul>\n".replace("<br></li>", "</li>\n")
        )
    notes = "".join(f"<li>{html.escape(note)}</li>\n" for note in score["notes"])
    if notes:
        notes = f"<h2>What did not run</h2>\n<ul>\n{notes}</ul>\n<p>Everything else ran.</p>\n"
    return PAGE.format(
        name=html.escape(score["submission"]),
        points=score["points"],
        of=score["of"],
        notes=notes,
        tasks="".join(tasks),
    )


def gradescope(score, answers=True):
    """Return the score as Gradescope's results.json wants it."""
    tests = [
        {
            "name": f"Task {check['task']}: {check['tries']}",
            "score": check["points"],
            "max_score": check["of"],
            "status": "failed" if check["problem"] else "passed",
            "output": in_words(check, answers),
        }
        for check in score["checks"]
    ]
    return {"output": "\n".join(score["notes"]), "tests": tests}


def write_json(path, content):
    """Write a file, and the folder that it lies in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def show(score):
    """Print a score."""
    for note in score["notes"]:
        print(note)
    for check in score["checks"]:
        if check["problem"]:
            print(f"Task {check['task']}, {check['tries']} {in_words(check, True)}")
    for number, task in score["tasks"].items():
        print(f"{number} {task['title']:<24}{task['points']:>3} of {task['of']:>3}")
    print(f"  {'automatic points':<24}{score['points']:>3} of {score['of']:>3}")


def grade_all(folder, out, limits=None, answers=True):
    """Grade all submissions in a folder; write their scores and feedback as they come."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / "scores.csv"
    with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
        table = csv.writer(file)
        tasks = [f"task {task}" for task in TASKS]
        table.writerow(["submission", *tasks, "points", "outcome", "notes"])
        for path in sorted(folder.iterdir()):
            if path.name.startswith(".") or path.resolve() == out.resolve():
                continue
            score = grade(path, limits)
            write_json(out / f"{path.name}.json", score)
            page = feedback(score, answers)
            (out / f"{path.name}.html").write_text(page, encoding="utf-8", errors="replace")
            points = [task["points"] for task in score["tasks"].values()]
            notes = "; ".join(score["notes"])
            table.writerow([path.name, *points, score["points"], score["outcome"], notes])
            file.flush()
            print(f"{path.name}: {score['points']} of {score['of']}")


def main():
    """Read the command line, and grade."""
    parser = argparse.ArgumentParser(description="Grade submissions of the assignment.")
    parser.add_argument(
        "submission", type=Path, help="a submission, or with --out a folder of them"
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="grade all, and write it here")
    parser.add_argument("--task", type=int, choices=TASKS, help="grade this task only")
    parser.add_argument("--gradescope", type=Path, metavar="FILE", help="write a results.json")
    parser.add_argument("--hide-answers", action="store_true", help="give no expected values")
    for name in ("seconds", "total", "memory"):
        default = getattr(Limits, name)
        parser.add_argument(f"--{name}", type=type(default), default=default)
    options = parser.parse_args()
    if not options.submission.exists():
        parser.error(f"there is no {options.submission}")
    if options.out and options.out.resolve() == options.submission.resolve():
        parser.error("--out is the folder of the submissions; it should be another one")
    sys.stdout.reconfigure(errors="replace")  # names come in all scripts
    limits = Limits(options.seconds, options.total, options.memory)
    if options.out:
        grade_all(options.submission, options.out, limits, not options.hide_answers)
        return 0
    score = grade(options.submission, limits, [options.task] if options.task else tuple(TASKS))
    if options.gradescope:
        write_json(options.gradescope, gradescope(score, not options.hide_answers))
    show(score)
    return int(score["points"] < score["of"])


if __name__ == "__main__":
    sys.exit(main())
