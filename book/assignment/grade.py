"""Grade a submission of the assignment: a notebook (.ipynb, or .md in MyST), or a module (.py).

    SUBMISSION=submission.ipynb pytest grade.py
    python grade.py submission.ipynb --json score.json

do the same; the second also writes the score to a file. The grader needs NumPy, pytest and
sampled_metrics, and no other file, so it can be copied to where the submissions are.

It runs the submitted code with your rights and does not defend itself against malice: use an
account or a container that holds nothing of value.
"""

import argparse
import ast
import contextlib
import copy
import functools
import io
import itertools
import json
import os
import re
import reprlib
import signal
import sys
import types
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.stats  # noqa: F401 - loaded here, so that a submission's clock does not count it

from sampled_metrics import (
    NDCG,
    AveragePrecision,
    BiasVariance,
    Draw,
    Ranks,
    Recall,
)

TASKS = {
    1: "From scores to ranks",
    2: "Two metrics",
    3: "The sampled rank",
    4: "What sampling does",
    5: "A correction",
}
SECONDS = float(os.environ.get("GRADE_SECONDS", "10"))
"""How long one call, or one statement outside of a function, may take (not on Windows)."""

pytestmark = pytest.mark.filterwarnings("ignore")


# --- Reading and running a submission ------------------------------------------------------------


class OutOfTime(BaseException):
    """Not an Exception, so that the submission's own `except Exception` lets it pass."""


@contextlib.contextmanager
def guarded():
    """Run the submission's code without its output and warnings, and for a limited time."""

    def stop(*_):
        raise OutOfTime(f"it took more than {SECONDS:g} seconds")

    quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with warnings.catch_warnings(), quiet[0], quiet[1]:
        warnings.simplefilter("ignore")
        if not hasattr(signal, "SIGALRM"):
            yield
            return
        before = signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def read_cells(path):
    """Return the code cells of a notebook, or those of a module, which may be a single one."""
    text = Path(path).read_text(encoding="utf-8-sig")
    kind = Path(path).suffix.lower()
    if kind == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        return ["".join(cell["source"]) for cell in cells]
    if kind == ".md":
        fenced = re.findall(r"^(`{3,})\{code-cell\}.*\n((?:.*\n)*?)\1", text, re.MULTILINE)
        options = r"\A(?:---\n(?:.*\n)*?---\n)?(?:\s*:[\w-]+:.*\n)*"
        return [re.sub(options, "", code) for _, code in fenced]
    if kind == ".py":
        return re.split(r"^# %%.*\n", text, flags=re.MULTILINE)
    raise ValueError(f"{kind or 'no'} extension; a submission is a .ipynb, .md or .py file")


def parse(code):
    """Parse a cell, without what only Jupyter understands."""
    try:
        return ast.parse(code)
    except SyntaxError:
        if code.lstrip().startswith("%%"):
            return ast.parse("")
        plain = re.sub(r"^([ \t]*)(?:[%!].*|.*\?[ \t]*)$", r"\1pass", code, flags=re.MULTILINE)
        return ast.parse(plain)


def in_words(error, cell=""):
    """Say what was raised, and where in the submission."""
    line, step = getattr(error, "lineno", None), error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename.startswith("cell "):
            cell, line = step.tb_frame.f_code.co_filename, step.tb_lineno
        step = step.tb_next
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    where = f" ({cell}, line {line})" if cell and line else ""
    return f"{type(error).__name__}: {message}{where}"


class Submission:
    """The names that a submission defines, and what went wrong while it ran.

    Statements are run one by one, in order: one that raises is noted, and the next is run, so
    that a slip in one cell takes no points from the functions of another.
    """

    def __init__(self, path):
        os.environ["MPLBACKEND"] = "agg"  # no windows
        module = types.ModuleType("submission")
        sys.modules["submission"] = module  # where dataclasses and pickles look for it
        self.names = vars(module)
        self.names["display"] = lambda *_, **__: None
        self.errors = []
        try:
            cells = read_cells(path)
        except (OSError, ValueError, KeyError, TypeError) as error:
            self.errors.append(f"{path} cannot be read: {type(error).__name__}: {error}")
            return
        for number, code in enumerate(cells, 1):
            self.run(f"cell {number}", code)

    def run(self, cell, code):
        """Run a cell, statement by statement."""
        try:
            with guarded():
                statements = parse(code).body
        except (SyntaxError, ValueError) as error:
            self.errors.append(in_words(error, cell))
            return
        for statement in statements:
            try:
                with guarded():
                    one = ast.Module([statement], type_ignores=[])
                    exec(compile(one, cell, "exec", dont_inherit=True), self.names)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # SystemExit too
                self.errors.append(in_words(error, cell))

    def __call__(self, name, *arguments, copies=True):
        """Call a function of the submission; return its result, and the call as text."""
        call = f"{name}({', '.join(map(short, arguments))})"
        if not callable(self.names.get(name)):
            fail(f"there is no function {name}")
        if copies:
            arguments = copy.deepcopy(arguments)
        before = sys.getprofile()
        try:
            with guarded():
                sys.setprofile(self._refuse_package)
                return self.names[name](*arguments), call
        except KeyboardInterrupt:
            raise
        except NotImplementedError:
            fail(f"{name} is not written yet")
        except BaseException as error:
            fail(f"{call} raised {in_words(error)}")
        finally:
            sys.setprofile(before)

    def _refuse_package(self, frame, event, _):
        """Refuse a call from the submission into the package."""
        if event == "call" and frame.f_globals.get("__name__", "").startswith("sampled_metrics"):
            if frame.f_back is not None and frame.f_back.f_globals is self.names:
                raise RuntimeError("the task is to write it without the package sampled_metrics")

    @contextlib.contextmanager
    def earlier_tasks_right(self, task):
        """Put right functions in the place of those of earlier tasks."""
        own = dict(self.names)
        for earlier in range(1, task):
            self.names.update(STAND_INS.get(earlier, {}))
        try:
            yield
        finally:
            self.names.update(own)


def fail(message):
    """Fail a test with these words and nothing else."""
    raise pytest.fail.Exception(message, pytrace=False) from None


def short(value):
    """Write an argument, or a result, in one line that is not too long."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        shown = [short(entry) for entry in value[:12]] + ["..."] * (len(value) > 12)
        return f"[{', '.join(shown)}]"
    return reprlib.repr(value)


def numbers(result, call):
    """Return the result as an array of floats."""
    try:
        if result is None:
            raise TypeError
        return np.asarray(result, dtype=float)
    except (TypeError, ValueError):
        fail(f"{call} returned {short(result)}, not numbers")


def agree(result, expected, call, note="", atol=1e-9):
    """Fail unless the result is what was expected."""
    got, expected = numbers(result, call), np.asarray(expected, dtype=float)
    if expected.ndim == 0 and got.size == 1:
        got = got.reshape(())
    if got.shape != expected.shape:
        fail(
            f"{call} returned {short(got)}, of shape {got.shape}; it should have the shape "
            f"{expected.shape}. {note}"
        )
    wrong = ~np.isclose(got, expected, rtol=1e-6, atol=atol, equal_nan=True)
    if wrong.any():
        which = tuple(np.argwhere(wrong)[0].tolist())
        entry = f"entry {which[0] if len(which) == 1 else which} of {call}" if which else call
        fail(f"{entry} is {short(got[which])} and should be {short(expected[which])}. {note}")


# --- Points --------------------------------------------------------------------------------------


def worth(task, points):
    """Make a test worth some points of a task.

    If it fails because of a function of an earlier task, it is passed: nobody pays twice.
    """

    def decorate(test):
        @functools.wraps(test)
        def graded(submission, **arguments):
            try:
                test(submission, **arguments)
            except pytest.fail.Exception:
                if not any(earlier < task for earlier in STAND_INS):
                    raise
                with contextlib.suppress(pytest.fail.Exception):
                    with submission.earlier_tasks_right(task):
                        test(submission, **arguments)
                        return
                raise

        graded.worth = task, points
        return graded

    return decorate


class Score:
    """Adds up the points, and reports them at the end."""

    def __init__(self, items, submission):
        self.items = {item.nodeid: item.function for item in items if hasattr(item, "function")}
        self.items = {at: test.worth for at, test in self.items.items() if hasattr(test, "worth")}
        self.errors = submission.errors
        self.failed = {}

    def pytest_runtest_logreport(self, report):
        """Note what failed, and why."""
        if report.nodeid in self.items and report.failed:
            self.failed[report.nodeid] = report.longreprtext.strip()

    def as_dict(self):
        """Return the score in a form that JSON can hold."""
        tasks = {}
        for task, title in TASKS.items():
            tests = {at: points for at, (of, points) in self.items.items() if of == task}
            tasks[str(task)] = {
                "title": title,
                "points": sum(points for at, points in tests.items() if at not in self.failed),
                "of": sum(tests.values()),
                "failed": {
                    at.split("::")[-1]: self.failed[at] for at in tests if at in self.failed
                },
            }
        return {
            "submission": os.environ["SUBMISSION"],
            "points": sum(task["points"] for task in tasks.values()),
            "of": sum(task["of"] for task in tasks.values()),
            "tasks": tasks,
            "errors": self.errors,
        }

    def pytest_terminal_summary(self, terminalreporter):
        """Print the score, and write it where that was asked for."""
        score, write = self.as_dict(), terminalreporter.write_line
        terminalreporter.ensure_newline()
        terminalreporter.section("score")
        for error in self.errors:
            write(f"While the submission ran: {error}")
        for number, task in score["tasks"].items():
            write(f"{number} {task['title']:<24}{task['points']:>3} of {task['of']:>3}")
        write(f"  {'automatic points':<24}{score['points']:>3} of {score['of']:>3}")
        if os.environ.get("SCORE_JSON"):
            text = json.dumps(score, indent=1, ensure_ascii=False)
            path = Path(os.environ["SCORE_JSON"])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def submission(request):
    """Run the submission once, and start counting."""
    if not os.environ.get("SUBMISSION"):
        pytest.exit("set SUBMISSION to a file, or run python grade.py FILE", 4)
    submitted = Submission(os.environ["SUBMISSION"])
    request.config.pluginmanager.register(Score(request.session.items, submitted))
    return submitted


# --- 1 From scores to ranks ----------------------------------------------------------------------


def last_among_equals(scores, held_out, train):
    """Sort each user's candidates, the held-out item behind its equals, and look it up."""
    ranks = []
    for row, item, seen in zip(scores, held_out, train, strict=True):
        candidates = [j for j in range(len(row)) if not seen[j]]
        candidates.sort(key=lambda j, row=row, item=item: (-row[j], j == item))
        ranks.append(1 + candidates.index(item))
    return ranks


def made_up_scores(seed, users=7, items=12):
    """Return different scores for all items, and held-out items that are not in training."""
    rng = np.random.default_rng(seed)
    scores = rng.permuted(np.tile(np.arange(items) / 4 - 1, (users, 1)), axis=1)
    return scores, rng.integers(items, size=users), np.zeros((users, items), dtype=bool), rng


def check_ranks(submission, scores, held_out, train):
    """Compare the ranks of all users, and show the first user whose rank is wrong."""
    result, call = submission("ranks_from_scores", scores, held_out, train)
    ranks = numbers(result, call)
    if ranks.shape != held_out.shape:
        fail(f"ranks_from_scores returned {short(result)} for {len(held_out)} users")
    expected = last_among_equals(scores, held_out, train)
    for user in np.flatnonzero(ranks != expected)[:1]:
        fail(
            f"ranks_from_scores gives a user the rank {short(ranks[user])}, and it should be "
            f"{expected[user]}: scores {short(scores[user])}, held-out item {held_out[user]}, "
            f"training items {np.flatnonzero(train[user]).tolist()}"
        )


@worth(1, 3)
def test_1_different_scores(submission):
    scores, held_out, train, _ = made_up_scores(1)
    check_ranks(submission, scores, held_out, train)


@worth(1, 3)
def test_1_training_items_do_not_compete(submission):
    scores, held_out, train, rng = made_up_scores(2)
    train |= rng.random(train.shape) < 0.4
    train[np.arange(len(held_out)), held_out] = False
    check_ranks(submission, scores, held_out, train)


@worth(1, 3)
def test_1_ties(submission):
    scores, held_out, train, rng = made_up_scores(3)
    scores = rng.integers(3, size=scores.shape).astype(float)
    scores[0] = 0.5  # a model that has learned nothing
    check_ranks(submission, scores, held_out, train)


@worth(1, 1)
def test_1_arguments_are_not_changed(submission):
    scores, held_out, train, _ = made_up_scores(4)
    train[:, 0] = held_out != 0
    arguments = scores, held_out, train
    before = copy.deepcopy(arguments)
    result, call = submission("ranks_from_scores", *arguments, copies=False)
    for name, argument, old in zip(("scores", "held_out", "train"), arguments, before, strict=True):
        if not np.array_equal(argument, old):
            fail(f"ranks_from_scores changed its argument {name}")
    if np.shape(numbers(result, call)) != held_out.shape:
        fail(f"ranks_from_scores returned {short(result)} for {len(held_out)} users")


# --- 2 Two metrics -------------------------------------------------------------------------------


@worth(2, 3)
def test_2_ndcg_in_the_top_k(submission):
    ranks = np.random.default_rng(5).integers(1, 21, size=10)
    agree(*expected_of(submission, "ndcg", NDCG(20), ranks, 20))


@worth(2, 2)
def test_2_ndcg_at_the_cutoff(submission):
    agree(*expected_of(submission, "ndcg", NDCG(7), np.array([7, 8, 6, 500, 1]), 7))


def expected_of(submission, name, metric, ranks, k, note=""):
    """Return the result, the right one, the call and a note."""
    result, call = submission(name, ranks, k)
    several = isinstance(ranks, list)
    return result, metric(Ranks.from_lists(ranks) if several else ranks), call, note


AP_TESTS = {
    "all_are_found": (12, [[1, 4, 9], [2], [1, 2, 3, 4], [12, 11]]),
    "some_are_missed": (5, [[1, 6], [2, 5, 90], [7], [3, 40, 41, 42]]),
    "more_relevant_than_k": (3, [[1, 2, 3, 4, 5], [2, 3, 8, 9], [4, 5, 6, 7]]),
    "ranks_in_any_order": (10, [[7, 1, 3], [9, 2, 30]]),
    "nothing_relevant": (10, [[1], [], [2]]),
}


def check_average_precision(submission, case):
    k, ranks = AP_TESTS[case]
    note = f"(Case: {case.replace('_', ' ')}.)"
    metric = AveragePrecision(k)
    agree(*expected_of(submission, "average_precision", metric, ranks, k, note))


@worth(2, 3)
def test_2_average_precision_all_are_found(submission):
    check_average_precision(submission, "all_are_found")


@worth(2, 3)
def test_2_average_precision_some_are_missed(submission):
    check_average_precision(submission, "some_are_missed")


@worth(2, 2)
def test_2_average_precision_more_relevant_than_k(submission):
    check_average_precision(submission, "more_relevant_than_k")


@worth(2, 1)
def test_2_average_precision_ranks_in_any_order(submission):
    check_average_precision(submission, "ranks_in_any_order")


@worth(2, 1)
def test_2_average_precision_nothing_relevant(submission):
    check_average_precision(submission, "nothing_relevant")


# --- 3 The sampled rank --------------------------------------------------------------------------


def all_draws(r, n, m, replacement):
    """Go through all draws of m of the other n - 1 items, and count sampled ranks."""
    others = [j for j in range(1, n + 1) if j != r]
    if replacement:
        draws = itertools.product(others, repeat=m)
    else:
        draws = itertools.combinations(others, m)
    counts = Counter(1 + sum(j < r for j in draw) for draw in draws)
    return np.array([counts[i] for i in range(1, m + 2)]) / counts.total()


SMALL = [(3, 6, 2), (2, 6, 4), (5, 7, 3), (4, 5, 1)]
"""Rank, number of items, number of samples."""


@worth(3, 4)
def test_3_with_replacement(submission):
    for r, n, m in SMALL:
        result, call = submission("sampled_rank_pmf", r, n, m, True)
        agree(result, all_draws(r, n, m, True), call, "(Counted over all draws.)")


@worth(3, 4)
def test_3_without_replacement(submission):
    for r, n, m in SMALL:
        result, call = submission("sampled_rank_pmf", r, n, m, False)
        agree(result, all_draws(r, n, m, False), call, "(Counted over all draws.)")


@worth(3, 2)
def test_3_first_and_last_rank(submission):
    for replacement in (True, False):
        for r in (1, 6):
            result, call = submission("sampled_rank_pmf", r, 6, 3, replacement)
            agree(result, all_draws(r, 6, 3, replacement), call, "(Best and worst possible rank.)")


@worth(3, 2)
def test_3_all_items_drawn(submission):
    for r in (1, 4, 9):
        result, call = submission("sampled_rank_pmf", r, 9, 8, False)
        agree(result, np.eye(9)[r - 1], call, "(Every other item is in the sample.)")


@worth(3, 3)
def test_3_many_items(submission):
    for replacement in (True, False):
        result, call = submission("sampled_rank_pmf", 212, 10_000, 500, replacement)
        draw = Draw(500, n_items=10_000, replacement=replacement)
        agree(result, draw.pmf(212), call, atol=1e-8)


# --- 4 What sampling does ------------------------------------------------------------------------


@worth(4, 3)
def test_4_recall_of_all_draws(submission):
    for r, n, m in SMALL[:3]:
        for k in range(1, m + 1):
            result, call = submission("expected_sampled_recall", r, n, m, k)
            agree(result, all_draws(r, n, m, True)[:k].sum(), call, "(Counted over all draws.)")


@worth(4, 2)
def test_4_recall_of_first_and_last_rank(submission):
    for r, expected in ((1, 1), (50, 0)):
        result, call = submission("expected_sampled_recall", r, 50, 10, 3)
        agree(result, expected, call, "(Best and worst possible rank.)")


@worth(4, 2)
def test_4_recall_with_a_cutoff_beyond_the_sample(submission):
    for k in (6, 9):
        result, call = submission("expected_sampled_recall", 48, 50, 5, k)
        agree(result, 1, call, "(How many sampled ranks are there?)")


@worth(4, 3)
def test_4_recall_among_many_items(submission):
    for r in (11, 1000):
        result, call = submission("expected_sampled_recall", r, 10_000, 100, 10)
        agree(result, Draw(100, n_items=10_000).expect(r, Recall(10)), call, atol=1e-8)


def check_flip(submission, n, m, k):
    """Check the property that makes an answer right; there are many."""
    result, call = submission("order_flip", n, m, k)
    if not isinstance(result, tuple | list) or len(result) != 2:
        fail(f"{call} returned {short(result)}, not two lists of ranks")
    ranks = [numbers(each, call) for each in result]
    if ranks[0].shape != ranks[1].shape or ranks[0].ndim != 1 or not 1 <= ranks[0].size <= 1000:
        fail(f"{call} returned {short(result)}; the lists must have the same length, 1 to 1000")
    for each in ranks:
        if not ((each == np.round(each)) & (each >= 1) & (each <= n)).all():
            fail(f"{call}: {short(each)} are not ranks from 1 to {n}")
    a, b = (each.astype(int) for each in ranks)
    exact = Recall(k)(a).mean(), Recall(k)(b).mean()
    if not exact[0] > exact[1]:
        fail(
            f"{call}: by exact Recall@{k} the first recommender must be better, "
            f"but it has {exact[0]:.3f} and the second {exact[1]:.3f}"
        )
    sampled = [Draw(m, n_items=n).expect(each, Recall(k)).mean() for each in (a, b)]
    if not sampled[1] >= sampled[0] + 0.1:
        fail(
            f"{call}: by expected sampled Recall@{k} the second recommender must be better by at "
            f"least 0.1, but it has {sampled[1]:.3f} and the first {sampled[0]:.3f}"
        )


@worth(4, 4)
def test_4_flip_among_10000_items(submission):
    check_flip(submission, 10_000, 100, 10)


@worth(4, 3)
def test_4_flip_among_500_items(submission):
    check_flip(submission, 500, 50, 5)


@worth(4, 3)
def test_4_flip_at_the_first_place(submission):
    check_flip(submission, 3000, 99, 1)


# --- 5 A correction ------------------------------------------------------------------------------

SHARES = {"uniform": np.ones(40), "1/r": 1 / np.arange(1, 41)}
PRIORS = {name: shares / shares.sum() for name, shares in SHARES.items()}


def table_of(submission, n, m, k, prior):
    """Return a submitted table and the call, if it has the right form."""
    result, call = submission("corrected_table", n, m, k, prior)
    table = numbers(result, call)
    if table.shape != (m + 1,) or not np.isfinite(table).all():
        fail(
            f"{call} returned {short(result)}; a table has one finite number for each sampled "
            f"rank, and there are {m + 1}"
        )
    return table, call


def check_risk(submission, name):
    """Compare the mean squared error of the table with the least there is."""
    n, m, k, prior = 40, 6, 3, PRIORS[name]
    table, call = table_of(submission, n, m, k, prior)
    draw = Draw(m, n_items=n)
    joint = prior[:, None] * draw.pmf(np.arange(1, n + 1))
    exact = (np.arange(1, n + 1) <= k)[:, None]
    best = BiasVariance(gamma=1, prior=prior).fit(Recall(k), draw).values
    risk, least = ((joint * (each - exact) ** 2).sum() for each in (table, best))
    if risk > least + 1e-9:
        fail(
            f"{call}: your table has a mean squared error of {risk:.6f}, and there is one with "
            f"{least:.6f} (prior: {name})"
        )


@worth(5, 4)
def test_5_least_squared_error_uniform_prior(submission):
    check_risk(submission, "uniform")


@worth(5, 4)
def test_5_least_squared_error_another_prior(submission):
    check_risk(submission, "1/r")


@worth(5, 2)
def test_5_right_on_average(submission):
    for name, prior in PRIORS.items():
        table, call = table_of(submission, 40, 8, 2, prior)
        mean = prior @ Draw(8, n_items=40).pmf(np.arange(1, 41)) @ table
        agree(mean, prior[:2].sum(), f"the mean estimate of {call}", f"(Prior: {name}.)")


@worth(5, 2)
def test_5_sampled_ranks_that_never_occur(submission):
    prior = np.zeros(20)
    prior[[0, 19]] = 0.25, 0.75
    table, call = table_of(submission, 20, 4, 2, prior)
    agree(table, [1, 0, 0, 0, 0], call, "Only ranks 1 and 20 have a positive prior.")


def check_bias_and_std(submission, table, r, n, m, k):
    """Compare with the moments over all draws."""
    p = all_draws(r, n, m, True)
    mean = p @ table
    expected = mean - (r <= k), np.sqrt(max(0, p @ table**2 - mean**2))
    result, call = submission("bias_and_std", table, r, n, m, k)
    got = numbers(result, call)
    if got.shape != (2,):
        fail(f"{call} returned {short(result)}, not a bias and a std")
    agree(got[0], expected[0], f"the bias of {call}", "(Counted over all draws.)")
    agree(got[1], expected[1], f"the std of {call}", "(Counted over all draws.)", atol=1e-6)


@worth(5, 3)
def test_5_bias_and_std_uncorrected(submission):
    check_bias_and_std(submission, np.array([1.0, 1, 0, 0]), 4, 6, 3, 2)
    check_bias_and_std(submission, np.array([1.0, 1, 0, 0]), 2, 6, 3, 2)


@worth(5, 3)
def test_5_bias_and_std_of_any_table(submission):
    rng = np.random.default_rng(6)
    for r in (2, 3, 6):
        check_bias_and_std(submission, rng.normal(size=5).round(2), r, 6, 4, 2)


@worth(5, 2)
def test_5_bias_and_std_where_nothing_is_random(submission):
    check_bias_and_std(submission, np.array([0.3, 0.2, 0.1, 0.1]), 1, 6, 3, 2)


STAND_INS = {
    3: {
        "sampled_rank_pmf": lambda r, n, m, replacement=True: Draw(
            m, n_items=n, replacement=bool(replacement)
        ).pmf(r)
    },
    4: {"expected_sampled_recall": lambda r, n, m, k: Draw(m, n_items=n).expect(r, Recall(k))},
}
"""What the functions of a task may be replaced by when a later task is graded."""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Grade a submission of the assignment.")
    parser.add_argument("submission", help="a notebook (.ipynb or MyST .md) or a module (.py)")
    parser.add_argument("--json", metavar="FILE", help="write the score to this file, too")
    options = parser.parse_args()
    os.environ["SUBMISSION"] = options.submission
    os.environ["SCORE_JSON"] = options.json or ""
    sys.exit(pytest.main([__file__, "--quiet", "--no-header", "-rN", "-p", "no:cacheprovider"]))
