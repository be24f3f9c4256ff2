"""Paired tests of many differences at once: t test, randomization, bootstrap, Holm."""

from __future__ import annotations

from typing import Any

import numpy as np

from sampled_metrics._checks import FloatArray
from sampled_metrics._moments import clean_mean

ENTRIES = 2**22  # resampled differences in memory at once, about


def paired_tests(
    differences: FloatArray,
    confidence: float,
    n_resamples: int,
    rng: np.random.Generator,
    *,
    progress: bool,
) -> dict[str, FloatArray]:
    """Test each column of paired differences, shape (n_users, n_columns), against a mean of 0."""
    from tqdm import tqdm

    size = len(differences)
    constant = np.ptp(differences, axis=0) <= 1e-12 * np.abs(differences).max(axis=0)  # as rounded
    differences = np.where(constant, differences[0], differences)
    mean, deviation = clean_mean(differences), differences.std(axis=0, ddof=1) * ~constant
    with np.errstate(invalid="ignore", divide="ignore"):
        effect = mean / deviation
    found = {
        "difference": mean,
        "standard_error": deviation / np.sqrt(size),
        "low": np.copy(mean),
        "high": np.copy(mean),
        "effect_size": np.where(mean == 0, 0.0, effect),
        "p_t": np.ones(len(mean)),
        "p_randomization": np.ones(len(mean)),
    }
    differing = np.flatnonzero((mean != 0) | (deviation > 0))
    for column in tqdm(differing, "testing", delay=2, disable=not progress):
        for name, value in _tests(differences[:, column], confidence, n_resamples, rng).items():
            found[name][column] = value
    found["p_holm"] = holm(found["p_t"])
    return found


def _tests(
    differences: FloatArray, confidence: float, n_resamples: int, rng: np.random.Generator
) -> dict[str, float]:
    """Return p-values and the bootstrap interval of one column."""
    from scipy import stats

    data, batch = (differences,), max(1, ENTRIES // len(differences))
    moves = np.ptp(differences) > 0
    options: dict[str, Any] = {"n_resamples": n_resamples, "batch": batch, "rng": rng}
    signs = stats.permutation_test(data, np.mean, permutation_type="samples", **options)
    if clean_mean(differences) == 0:  # every other mean is at least as far from 0
        signs.pvalue = 1.0
    if not moves:  # a t test has nothing to compare the difference with
        here = float(differences[0])
        return {"low": here, "high": here, "p_t": np.nan, "p_randomization": signs.pvalue}
    interval = stats.bootstrap(
        data, np.mean, confidence_level=confidence, method="percentile", **options
    ).confidence_interval
    return {
        "low": interval.low,
        "high": interval.high,
        "p_t": stats.ttest_1samp(differences, 0).pvalue,
        "p_randomization": signs.pvalue,
    }


def holm(p: FloatArray) -> FloatArray:
    """Adjust the p-values of a family of tests by Holm's method; NaN counts as the largest."""
    adjusted = np.full(p.shape, np.nan)
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]  # NaN is sorted last
    factors = len(p) - np.arange(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1)
    return adjusted
