"""The lines that the README and the book promise run as written."""

import re
from pathlib import Path

import numpy as np

import sampled_metrics
from sampled_metrics import (
    NDCG,
    BiasVariance,
    ConstrainedLeastSquares,
    LeastSquares,
    Precision,
    RankEstimate,
    Ranks,
    Recall,
    Uncorrected,
    expected_metric,
    rank_distribution,
    sample_ranks,
)


def test_every_public_name_is_there_and_documented():
    for name in sampled_metrics.__all__:
        assert getattr(sampled_metrics, name).__doc__


def test_the_first_page_of_the_package():
    ranks = np.array([212, 2, 743, 5342, 1548])
    assert Recall(k=10)(ranks, n_items=10_000).tolist() == [0, 1, 0, 0, 0]
    assert NDCG()(Ranks.from_lists([[3, 5], [1]]), n_items=100).shape == (2,)
    users = Ranks.from_recommendations(
        predictions=[[1, 6, 8], [1, 2, 3, 4, 5], [], [1, 2, 3, 4], []],
        labels=[[1, 2, 3, 4, 5, 6], [2, 4, 6], [2, 4, 6], [], []],
    )
    np.testing.assert_allclose(Precision(k=3)(users), [2 / 3, 1 / 3, 0, np.nan, np.nan])
    assert rank_distribution(100, n_items=10_000, n_samples=99).shape == (100,)
    expected = expected_metric(NDCG(), ranks, n_items=10_000, n_samples=99, replacement=True)
    assert expected.shape == (5,)
    drawn = sample_ranks(ranks, n_items=10_000, n_samples=99, replacement=False, repeats=100, rng=0)
    assert drawn.shape == (100, 5)
    for estimator in (
        Uncorrected(),
        RankEstimate(),
        LeastSquares(),
        ConstrainedLeastSquares(),
        BiasVariance(gamma=0.1),
    ):
        corrected = estimator.fit(Recall(k=10), n_items=3541, n_samples=100)
        assert corrected.values.shape == (101,)
        assert corrected([1, 101]).shape == (2,)


def test_the_code_of_the_readme_runs():
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})


def test_metrics_are_values():
    assert str(NDCG(k=10)) == "NDCG@10"
    assert str(NDCG(k=5, ideal="hits")) == "NDCG@5 (ideal=hits)"
    assert NDCG(k=10) == NDCG(k=10) != NDCG(k=5)
    assert len({Recall(k=10), Recall(k=10), Recall(k=5)}) == 2


def test_the_version_is_the_same_everywhere():
    root = Path(__file__).parents[1]
    says = {
        "src/sampled_metrics/__init__.py": r'^__version__ = "(.+)"',
        "CITATION.cff": r"^version: (.+)",
        "CHANGELOG.md": r"^## ([\d.]+)",
        "book/about.md": r"version = \{(.+)\}",
    }
    found = {
        file: re.search(pattern, (root / file).read_text(encoding="utf-8"), re.M)[1]
        for file, pattern in says.items()
    }
    assert len(set(found.values())) == 1, found
