"""What the README and the documentation promise of the package as a whole."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import sampled_metrics
from sampled_metrics import (
    NDCG,
    BiasVariance,
    Draw,
    Precision,
    RankEstimate,
    Ranks,
    Recall,
    Split,
    Uncorrected,
    WeightedDraw,
    compare,
    dominates,
    evaluate,
)
from sampled_metrics.bounds import identified_set
from sampled_metrics.corrections import (
    ConstrainedLeastSquares,
    MappedCutoff,
    Multinomial,
    sample_adaptively,
)
from sampled_metrics.evaluation import Comparison
from sampled_metrics.experiments import MatrixFactorization
from shared import expected_values, known, runs_of
from typed_calls import RIGHT, WRONG

ROOT = Path(__file__).parents[1]


def members(kind):
    """The public methods and properties that a class of the package defines itself."""
    return {
        name: value.fget if isinstance(value, property) else getattr(kind, name)
        for name, value in vars(kind).items()
        if not name.startswith("_")
        and (inspect.isroutine(value) or isinstance(value, property | classmethod))
        and "sampled_metrics" in (getattr(getattr(kind, name), "__module__", None) or __package__)
    }


def sections(doc):
    """The headings of a numpydoc text."""
    return re.findall(r"^(\w[\w ]*)\n-+$", inspect.cleandoc(doc), re.MULTILINE)


# --- documentation


@pytest.mark.parametrize("name", sampled_metrics.__all__)
def test_every_public_name_is_documented_with_its_parameters(name):
    given = getattr(sampled_metrics, name)
    assert given.__doc__, name
    assert not given.__doc__.startswith(f"{name}("), "the text that Python makes up"
    protocols = {"Estimator", "Metric", "Recommender", "CorrectedMetric", "AdaptiveSample"}
    if name in protocols or name == "Bounds":
        return
    documented = {
        parameter.strip()
        for line in re.findall(r"^(\w[\w, ]*)(?: :.*)?$", inspect.cleandoc(given.__doc__), re.M)
        for parameter in line.split(",")
    }
    assert set(inspect.signature(given).parameters) <= documented


@pytest.mark.parametrize("name", [n for n in sampled_metrics.__all__ if n[0].isupper()])
def test_every_public_method_is_documented(name):
    for method, given in members(getattr(sampled_metrics, name)).items():
        assert given.__doc__, f"{name}.{method}"


def test_type_checkers_know_the_doors_as_they_are():
    """What `Ranks` declares for them is what the rooms above give it."""
    tree = ast.parse((ROOT / "src" / "sampled_metrics" / "ranks.py").read_text("utf-8"))
    doors = {
        node.name: node
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and ast.unparse(branch.test) == "TYPE_CHECKING"
        for node in branch.body
        if isinstance(node, ast.FunctionDef)
    }
    assert len(doors) == 7
    for name, node in doors.items():
        given = [
            (p.name, p.kind.name, None if p.default is p.empty else repr(p.default))
            for p in inspect.signature(getattr(Ranks, name)).parameters.values()
        ]
        args = node.args
        defaults = [None] * (len(args.args) - len(args.defaults)) + [*args.defaults]
        declared = [
            *(
                (a.arg, "POSITIONAL_OR_KEYWORD", d)
                for a, d in zip(args.args, defaults, strict=True)
            ),
            *(
                (a.arg, "KEYWORD_ONLY", d)
                for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)
            ),
        ]
        said = [(n, k, None if d is None else ast.unparse(d)) for n, k, d in declared]
        assert said[0][0] in (given[0][0], "self"), name
        assert said[1:] == given[1:], name


def test_examples_are_everywhere_where_a_user_begins():
    results = {"AdaptiveSample", "Bounds", "CorrectedMetric", "Difference", "Dominance"}
    results |= {"Evaluation", "Explanation", "Power"}
    for name in set(sampled_metrics.__all__) - results - {"Recommender"}:
        assert "Examples" in sections(getattr(sampled_metrics, name).__doc__), name


def test_all_names_are_sorted_and_there():
    names = sampled_metrics.__all__
    assert len(set(names)) == len(names)
    assert all(hasattr(sampled_metrics, name) for name in names)


def test_every_documented_name_of_a_module_is_a_name_of_the_package():
    for path in sorted((ROOT / "src" / "sampled_metrics").glob("[!_]*.py")):
        if path.stem in ("cli", "tables"):  # a program, and an extra
            continue
        module = vars(sys.modules[f"sampled_metrics.{path.stem}"])
        for name in module["__all__"]:
            assert getattr(sampled_metrics, name) is module[name], f"{path.stem}.{name}"


# --- code of the documentation


def test_the_first_page_of_the_package():
    ranks = np.array([212, 2, 743, 5342, 1548])
    assert Recall(k=10)(ranks, n_items=10_000).tolist() == [0, 1, 0, 0, 0]
    assert NDCG()(Ranks.from_lists([[3, 5], [1]]), n_items=100).shape == (2,)
    users = Ranks.from_recommendations(
        predictions=[[1, 6, 8], [1, 2, 3, 4, 5], [], [1, 2, 3, 4], []],
        labels=[[1, 2, 3, 4, 5, 6], [2, 4, 6], [2, 4, 6], [], []],
    )
    np.testing.assert_allclose(Precision(k=3)(users), [2 / 3, 1 / 3, 0, np.nan, np.nan])
    draw = Draw(99, n_items=10_000)
    assert draw.pmf(100).shape == (100,)
    assert draw.expect(ranks, NDCG()).shape == (5,)
    drawn = Draw(99, n_items=10_000, replacement=False).rvs(ranks, repeats=100, rng=0)
    assert drawn.shape == (100, 5)
    for estimator in (
        Uncorrected(),
        RankEstimate(),
        ConstrainedLeastSquares(),
        BiasVariance(gamma=0.1),
        Multinomial(n_users=6000),
        MappedCutoff(),
    ):
        corrected = estimator.fit(Recall(k=10), Draw(100, n_items=3541))
        assert corrected.values.shape == (101,)
        assert corrected([1, 101]).shape == (2,)


def test_the_code_of_the_readme_says_what_it_returns():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first, own, values = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(first, "README.md", "exec"), names)
    for kind in ("exact", "sampled"):
        found = ", ".join(f"{name} {value:.3f}" for name, value in names[kind].items())
        assert re.search(f"# {kind}: +{found}", first)
    exec(compile(own, "README.md", "exec"), names)
    assert names["found"].table["value"].iloc[[0, 2]].tolist() == [0.5, 0], "mine is ahead"
    exec(compile(values, "README.md", "exec"), names)
    assert names["Recall"](k=10)(names["ranks"]).tolist() == [0, 1, 0, 0, 0]
    precision = names["Precision"](k=3)(names["users"])
    np.testing.assert_allclose(precision, [2 / 3, 1 / 3, 0, np.nan, np.nan])


def test_the_readme_lists_the_chapters_of_the_book():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    files = [f"{c['file']}.md" for p in toc["parts"] if p.get("numbered") for c in p["chapters"]]
    titles = [re.findall("^# (.*)", (ROOT / f).read_text("utf-8"), re.M)[0] for f in files]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = "".join(re.findall(r"^\| \w.*\[.*\]\(book/.*\|$", text, re.M))
    assert re.findall(r"\[(.*?)\]\((book/.*?)\)", rows) == list(zip(titles, files, strict=True))
    landing = (ROOT / "book/index.md").read_text(encoding="utf-8")
    listed = landing.partition("All chapters")[2].partition("```")[0]
    appendix = [f"{c['file']}.md" for c in toc["parts"][-1]["chapters"]]
    files += [f for f in appendix if "\n## Further reading\n" in (ROOT / f).read_text("utf-8")]
    assert re.findall(r"\{ref\}`([\w-]+)`", listed) == [Path(f).stem for f in files]
    assert all(f"]({file})" in text for file in files)
    hour = [f"{c['file']}.md" for p in toc["parts"] for c in p["chapters"] if "hour-" in c["file"]]
    assert re.findall(r"\]\((book/hour-.*?)\)", text) == hour != []


@pytest.mark.parametrize("calls", RIGHT, ids=lambda calls: calls.__name__)
def test_calls_that_mypy_accepts_run(calls):
    calls()


@pytest.mark.parametrize("call", WRONG, ids=range(len(WRONG)))
def test_calls_that_mypy_refuses_are_refused(call):
    with pytest.raises((ValueError, TypeError)):
        call()


def test_the_types_are_part_of_the_package():
    assert (ROOT / "src" / "sampled_metrics" / "py.typed").is_file()


# --- importing


def test_importing_loads_only_numpy():
    heavy = [
        "matplotlib",
        "narwhals",
        "pandas",
        "pooch",
        "requests",
        "scipy",
        "threadpoolctl",
        "tqdm",
    ]
    code = f"import sys, sampled_metrics; print(*sorted(set({heavy}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


# --- values


ONE = Split.from_pairs([0], [0], [0], [1], n_items=5)
HITS = [Recall(k=1)]
SAMPLED = {"A": Ranks([1, 2], n_items=4, catalog=9)}
SMALL = Draw(3, n_items=9)
WORK = {  # all of one step
    "ranking": lambda **show: Ranks.from_model(np.zeros((1, 5)), ONE, **show),
    "iterations": lambda **show: MatrixFactorization(2, n_iterations=1, **show).fit(ONE.train),
    "fitting": lambda **show: expected_values(
        {"A": [1, 2]}, HITS, SMALL, {"it": BiasVariance(0)}, **show
    ),
    "sampling for A": lambda **show: runs_of(
        {"A": [1, 2]}, HITS, SMALL, {"it": Uncorrected()}, repeats=1, rng=0, **show
    ),
    "bounding": lambda **show: evaluate(SAMPLED, HITS, **show),
    "testing": lambda **show: evaluate({"A": [1, 2], "B": [2, 2]}, HITS).comparisons(
        n_resamples=9, rng=0, **show
    ),
}


@pytest.mark.parametrize("name", WORK)
@pytest.mark.parametrize("seconds", [1.5, 2.5])
def test_work_of_more_than_two_seconds_shows_a_progress_bar(name, seconds, capsys, monkeypatch):
    clock = count(step=seconds)  # which is looked at after each step
    monkeypatch.setattr("tqdm.std.time", lambda: next(clock))
    WORK[name](progress=False)
    assert capsys.readouterr().err == ""
    WORK[name]()  # shown by default
    assert (name in capsys.readouterr().err) == (seconds > 2)


def test_what_has_no_switch_for_a_progress_bar_shows_none(capsys, monkeypatch):
    clock = count(step=10)
    monkeypatch.setattr("tqdm.std.time", lambda: next(clock))
    compare([1, 2], [2, 2], Recall(k=1), SMALL, estimator=BiasVariance(0))
    assert capsys.readouterr().err == ""


def test_metrics_are_values():
    assert str(NDCG(k=10)) == "NDCG@10"
    assert str(NDCG(k=5, ideal="hits")) == "NDCG@5 (ideal=hits)"
    assert str(NDCG()) == "NDCG"
    assert NDCG(k=10) == NDCG(k=10) != NDCG(k=5)
    assert NDCG(k=np.int64(10)) == NDCG(k=10)  # type: ignore[arg-type]
    assert Recall(k=1) != Precision(k=1)  # type: ignore[comparison-overlap]
    assert len({Recall(k=10), Recall(k=10), Recall(k=5)}) == 2
    assert replace(NDCG(k=10), k=5) == NDCG(k=5)
    assert eval(repr(NDCG(k=5, ideal="hits"))) == NDCG(k=5, ideal="hits")


def test_draws_are_values():
    assert Draw(9, n_items=100) == Draw(9, n_items=np.int64(100)) != Draw(9, n_items=101)
    assert Draw(9, n_items=[10, 20]) == Draw(9, n_items=np.array([10, 20]))
    assert Draw(9) != Draw(9, replacement=False)
    assert len({Draw(9), Draw(9), Draw(8), Draw(9, n_items=[10, 20])}) == 3
    assert Draw(9) != "Draw(9)"
    assert eval(repr(Draw(9, n_items=100))) == Draw(9, n_items=100)


def test_estimators_are_values():
    uniform = np.full(4, 0.25)
    assert BiasVariance(0.1) == BiasVariance(gamma=0.1) != BiasVariance(0.2)
    assert BiasVariance(0.1, uniform) == BiasVariance(0.1, uniform.tolist()) != BiasVariance(0.1)
    constrained = [ConstrainedLeastSquares(prior=p) for p in (uniform, uniform.tolist(), None)]
    assert constrained[0] == constrained[1] != constrained[2]
    assert Multinomial(5, uniform) == Multinomial(5, uniform.tolist()) != Multinomial(5)
    assert BiasVariance(0) != ConstrainedLeastSquares() != Uncorrected()
    five = Multinomial(5), Multinomial(np.int64(5))  # type: ignore[arg-type]
    assert len({Uncorrected(), Uncorrected(), *five}) == 2
    assert eval(repr(RankEstimate("m+1"))) == RankEstimate("m+1")


def frozen_things():
    fitted = BiasVariance(0.1).fit(Recall(k=1), Draw(3, n_items=9))
    estimators = [Uncorrected(), RankEstimate(), BiasVariance(0.1)]
    estimators += [ConstrainedLeastSquares(), Multinomial(n_users=5), MappedCutoff()]
    return [
        (NDCG(k=3), "k"),
        (Draw(3, n_items=[4, 5]), "n_items"),
        (WeightedDraw(1, [1, 2]), "weights"),
        *((estimator, "prior") for estimator in estimators),
        (fitted.estimator, "gamma"),
        (Ranks.from_lists([[1, 3]], gains=[[2, 1]], n_items=5), "values"),
        (Ranks([1, 3], [0, 1], 9), "best"),
        (Split.from_pairs([0], [0], [0], [1]), "users"),
        (dominates([1, 2], [2, 1]), "crossings"),
        (compare([1, 2], [2, 2], NDCG()), "difference"),
        (identified_set([0.5, 0.5], Recall(k=1), Draw(1, n_items=5)), "low"),
        (sample_adaptively([1, 2], 9, sizes=[3], rng=0), "n_samples"),
        (evaluate({"A": [1, 2]}, [NDCG()]), "confidence"),
    ]


@pytest.mark.parametrize(("thing", "name"), frozen_things(), ids=lambda x: type(x).__name__)
def test_arguments_and_results_cannot_be_changed(thing, name):
    with pytest.raises((FrozenInstanceError, AttributeError)):
        setattr(thing, name, None)


def test_an_evaluation_is_itself_only():
    """It holds tables, which have no one answer to whether they are the same."""
    one, other = (evaluate({"A": [1, 2]}, [NDCG()]) for _ in range(2))
    assert one != other
    assert len({one, one, other}) == 2


def test_arrays_of_arguments_and_results_cannot_be_changed():
    lists = Ranks.from_lists([[1, 3]], gains=[[2, 1]], n_items=5)
    tied, split = Ranks([1], [0], 9, users=[4]), Split.from_pairs([0], [0], [0], [1])
    fitted = Uncorrected().fit(Recall(k=1), Draw(3, n_items=9))
    arrays: list[Any] = [
        Draw(3, n_items=[4, 5]).n_items,
        WeightedDraw(1, [1, 2]).weights,
        BiasVariance(0.1, [0.5, 0.5]).prior,
        *(lists.best, lists.offsets, lists.n_relevant, lists.gains, lists.ideal_gains),
        *(lists.n_items, lists.instance, lists.order),
        *(tied.best, tied.n_tied, tied.n_items, tied.users),
        *(split.users, split.items),
        *(fitted.values, fitted.terms(2)),
    ]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7


def test_what_was_given_can_be_changed_without_changing_what_was_made_of_it():
    ranks, items, weights, prior = (np.array(x) for x in ([2], [9], [1.0, 2.0], [0.5, 0.5]))
    tied, lists = Ranks(ranks, [0], items), Ranks.from_lists([ranks], n_items=items)
    draw, weighted, fit = Draw(3, n_items=items), WeightedDraw(1, weights), BiasVariance(0, prior)
    for array in (ranks, items, weights, prior):
        array[:] = 0
    assert tied.best.tolist() == lists.best.tolist() == [2]
    assert known(tied.n_items).tolist() == known(lists.n_items).tolist() == [9]
    assert np.array(draw.n_items).tolist() == [9]
    assert weighted.weights.tolist() == [1, 2]
    assert known(fit.prior).tolist() == [0.5, 0.5]


def test_results_are_named():
    found = compare([1, 2], [2, 2], NDCG())
    assert isinstance(found, Comparison)
    assert repr(found).startswith("Comparison(n_users=2, ")
    low, high = identified_set([0.5, 0.5], Recall(k=1), Draw(1, n_items=5))
    assert low <= high


# --- the version


def test_the_version_is_the_same_everywhere():
    says = {
        "src/sampled_metrics/__init__.py": r'^__version__ = "(.+)"',
        "CITATION.cff": r"^version: (.+)",
        "CHANGELOG.md": r"\A# Changelog\n\n## ([\d.]+)",
        "book/about.md": r"\bversion (?:= \{)?([\d.]*\d)",
    }
    found = {
        file: re.findall(pattern, (ROOT / file).read_text(encoding="utf-8"), re.M)
        for file, pattern in says.items()
    }
    n_times = {"book/about.md": 2}
    assert found == {file: [sampled_metrics.__version__] * n_times.get(file, 1) for file in says}
