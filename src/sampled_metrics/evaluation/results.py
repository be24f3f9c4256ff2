"""What an evaluation found: tables, tests of all pairs, a figure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import combinations
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._arguments import RNG, FloatArray, IntArray, as_flag, as_generator, as_integer
from sampled_metrics.bounds import Bounds
from sampled_metrics.evaluation._moments import Moments, clean_mean
from sampled_metrics.evaluation.compare import each_column
from sampled_metrics.sampling import Draw

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Evaluation"]

Column = tuple[str, str]  # a metric and an estimator, by their names


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The results of an evaluation: values with intervals, values of users, tests of pairs.

    `evaluate` returns one. Print it, or show it in a notebook, to see a table.

    Parameters
    ----------
    moments : dict of str to Moments
        The values of each recommender.
    columns : list of tuple of str
        The metric and the estimator of each value.
    users : ndarray, shape (n_users,)
        The ids of the users; 0, 1, ... if they have none.
    groups : ndarray, shape (n_users,), or None
        The group of each user.
    bounds : dict of tuple of str to Bounds
        The bounds that a sample gives for a recommender's exact metric, by the names of both.
    draw : Draw or None
        The draw that was made, or would be made.
    confidence : float
        Confidence of all intervals and bounds.
    """

    moments: dict[str, Moments]
    columns: list[Column]
    users: NDArray[Any]
    groups: NDArray[Any] | None
    bounds: dict[tuple[str, str], Bounds]
    draw: Draw | None
    confidence: float
    among: IntArray | None  # number of candidates of each user

    @property
    def table(self) -> pd.DataFrame:
        """Mean, standard error and interval of each value.

        Columns recommender, metric, estimator, value, standard_error, low, high, users. The
        estimator is "exact" for the exact metric. For sampled ranks, there are also rows "bounds":
        the exact metric of the population is between low and high. These are NaN, and are printed
        as "none possible", if no ranks explain the sample: at this confidence, it was not drawn as
        the draw says.
        The standard error covers the change that other users, other samples and other ways to
        break ties would make. It does not cover the bias of an estimator. The intervals are
        Student's; with few users they may reach beyond the possible values of the metric. If most
        of a metric comes from a few users, they cover the truth less often than they say: for 80
        users with ranks evenly from 1 to 100, the 95 percent interval of NDCG covers the truth in
        89 percent of all cases.
        """
        import pandas as pd

        return pd.DataFrame(list(self._rows(np.arange(len(self.users)), bounds=True)))

    @property
    def by_group(self) -> pd.DataFrame:
        """The same table for each group of users, with a first column group and without bounds.

        Raises
        ------
        ValueError
            If the evaluation has no groups.
        """
        import pandas as pd

        if self.groups is None:
            raise ValueError("there are no groups; give them as evaluate(..., groups=...)")
        names, which = np.unique(self.groups, return_inverse=True)
        rows = [
            {"group": name} | row
            for i, name in enumerate(names.tolist())
            for row in self._rows(np.flatnonzero(which == i))
        ]
        return pd.DataFrame(rows)

    @property
    def per_user(self) -> pd.DataFrame:
        """Each user's values: columns user, group (if any), recommender, metric, estimator, value.

        For exact ranks and a draw, the value is the mean over all samples of the user.
        """
        import pandas as pd

        named = {"user": self.users} | ({} if self.groups is None else {"group": self.groups})
        frames = [
            pd.DataFrame(
                named | {"recommender": name, "metric": metric, "estimator": estimator}
            ).assign(value=moments.mean[:, i] + moments.offset[:, i])
            for name, moments in self.moments.items()
            for i, (metric, estimator) in enumerate(self.columns)
        ]
        return pd.concat(frames, ignore_index=True)

    def comparisons(
        self, *, n_resamples: int = 9999, rng: RNG = None, progress: bool = True
    ) -> pd.DataFrame:
        """Compare all pairs of recommenders by what was measured, user by user.

        For what a draw would give on average, which was not measured, see `orders`.

        Parameters
        ----------
        n_resamples : int
            Number of randomizations, and of bootstrap samples.
        rng : None, int, SeedSequence or Generator
            Source of randomness, as in SciPy.
        progress : bool
            Whether work of more than two seconds shows a progress bar.

        Returns
        -------
        DataFrame
            Columns first, second, metric, estimator; the mean difference (first minus second), its
            standard error, and the ends low and high of its bootstrap interval (by percentiles);
            effect_size, the mean over the standard deviation of the differences (Cohen's d for
            pairs); the p-values p_t of the paired t test and p_randomization of the paired
            randomization test (Smucker, Allan & Carterette 2007); p_holm, which is p_t adjusted
            for all pairs and metrics of the estimator (Holm 1979); users. Where all users have the
            same difference other than 0, p_t and p_holm are NaN: a t test needs some spread.

        Raises
        ------
        ValueError
            If there are fewer than two recommenders or users, or `n_resamples` is below 2.

        Examples
        --------
        >>> from sampled_metrics import ReciprocalRank, evaluate
        >>> found = evaluate({"A": [1, 2, 3, 1, 5], "B": [2, 4, 3, 2, 9]}, [ReciprocalRank()])
        >>> tests = found.comparisons(rng=0)
        >>> tests[["difference", "standard_error", "p_t", "p_randomization"]].round(3)
           difference  standard_error   p_t  p_randomization
        0       0.268           0.103  0.06            0.125
        """
        import pandas as pd

        self._check_pairs()
        generator, count = as_generator(rng), as_integer("n_resamples", n_resamples, low=2)
        show = as_flag("progress", progress)
        pairs = list(combinations(self.moments, 2))
        frames = []
        for estimator, columns in self._measured().items():
            keys = [(*pair, self.columns[i][0], estimator) for pair in pairs for i in columns]
            each = [
                self.moments[a].mean[:, columns] - self.moments[b].mean[:, columns]
                for a, b in pairs
            ]
            tests = paired_tests(np.hstack(each), self.confidence, count, generator, progress=show)
            frame = pd.DataFrame(keys, columns=["first", "second", "metric", "estimator"])
            frames.append(frame.assign(**tests, users=len(self.users)))
        return pd.concat(frames, ignore_index=True)

    def orders(self) -> pd.DataFrame:
        """Compare all pairs by what an evaluation by sampling would report for these exact ranks.

        Returns
        -------
        DataFrame
            Columns first, second, metric, estimator; the fields of `Comparison`; its
            standard_error, order_kept, and right_order: the probability that one evaluation of new
            users puts the two in the order of their exact metrics.

        Raises
        ------
        ValueError
            If there was no draw, or the ranks were sampled; if there are fewer than two
            recommenders or users.
        """
        import pandas as pd

        self._check_pairs()
        at = {column: i for i, column in enumerate(self.columns)}
        drawn = [i for i, (_, estimator) in enumerate(self.columns) if estimator != "exact"]
        if self._of_samples or not drawn:
            raise ValueError(
                "there was no draw of exact ranks: evaluate(ranks, metrics, Draw(100))"
            )
        truth_of = [at[self.columns[i][0], "exact"] for i in drawn]
        rows = []
        for a, b in combinations(self.moments, 2):
            one, other = self.moments[a], self.moments[b]
            truth = clean_mean(one.mean[:, truth_of] - other.mean[:, truth_of])
            one, other = (moments.take((slice(None), drawn)) for moments in (one, other))
            for i, found in zip(drawn, each_column(one, other, truth), strict=True):
                names = dict(zip(("metric", "estimator"), self.columns[i], strict=True))
                more = {name: getattr(found, name) for name in ("standard_error", "order_kept")}
                more["right_order"] = found.right_order()
                rows.append({"first": a, "second": b} | names | asdict(found) | more)
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        """Return the values with their standard errors, as a table of text."""
        return f"{self._wide().to_string()}\n{self._caption()}"

    def _repr_html_(self) -> str:
        """Return the same as HTML, for notebooks."""
        from html import escape

        return f"{self._wide().to_html()}<p>{escape(self._caption())}</p>"

    def to_latex(self) -> str:
        """Return the printed table in LaTeX, for the package booktabs. It needs Jinja2.

        Returns
        -------
        str
        """
        caption = self._caption().replace("%", r"\%")
        return self._wide().to_latex(escape=True, caption=caption).replace("±", r"$\pm$")

    def plot(self) -> Figure:
        """Draw each value with its interval, one panel per metric.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        ImportError
            If Matplotlib is not installed; the extra ``report`` brings it.
        """
        return draw_values(self.table, f"{self._setting()}; {self.confidence:.0%} intervals")

    def _wide(self) -> pd.DataFrame:
        """Return one row per recommender and estimator, one column per metric, as text."""
        table = self.table
        value, error, low, high = (
            table[name].map("{:.4f}".format) for name in ("value", "standard_error", "low", "high")
        )
        is_bounds = table["estimator"] == "bounds"
        table["text"] = (value + " ± " + error).mask(is_bounds, low + " to " + high)
        table.loc[is_bounds & table["low"].isna(), "text"] = "none possible"
        wide = table.pivot(index=["recommender", "estimator"], columns="metric", values="text")
        rows = list(dict.fromkeys(zip(table["recommender"], table["estimator"], strict=True)))
        wide.columns.name = None
        return wide.reindex(index=rows, columns=list(dict.fromkeys(table["metric"])), fill_value="")

    def _caption(self) -> str:
        bounds = f"; bounds at {self.confidence:.0%}" if self.bounds else ""
        return f"{self._setting()}; value ± standard error{bounds}"

    def _setting(self) -> str:
        users, draw, among = f"{len(self.users):,} users", self.draw, _numbers(self.among)
        if draw is None:
            return f"{users}, ranked among {among} items"
        kind = {True: "with replacement", False: "without replacement"}.get(
            draw.replacement, "with repeats merged"
        )
        drawn = f"{_numbers(draw.n_samples)} sampled items each ({kind})"
        if draw.shared:
            drawn += ", one sample for all, whose error is not known"
        if self._of_samples:
            return f"{users}, {drawn} of {_numbers(draw.n_items)} items"
        return f"{users}, ranked among {among} items; {drawn}"

    @property
    def _of_samples(self) -> bool:
        return all(estimator != "exact" for _, estimator in self.columns)

    def _measured(self) -> dict[str, list[int]]:
        """Return the columns of each estimator that was applied to what was measured."""
        measured: dict[str, list[int]] = {}
        for i, (_, estimator) in enumerate(self.columns):
            if self._of_samples or estimator == "exact":
                measured.setdefault(estimator, []).append(i)
        return measured

    def _check_pairs(self) -> None:
        for what, count in (("recommenders", len(self.moments)), ("users", len(self.users))):
            if count < 2:
                raise ValueError(f"there are {count} {what}; a comparison needs two or more")
        if self.draw is not None and self.draw.shared and self._of_samples:
            raise ValueError(
                "draw.shared is True: one sample for all users moves all of them together, and "
                "comparisons of users by users say nothing; compare exact ranks"
            )

    def _rows(self, x: NDArray[np.intp], *, bounds: bool = False) -> Iterator[dict[str, Any]]:
        """Yield the rows of the table for some of the users."""
        from scipy.special import stdtrit

        size = len(x)
        t = stdtrit(size - 1, (1 + self.confidence) / 2) if size > 1 else np.nan
        for name, moments in self.moments.items():
            some = moments.take(x)
            value = (some.mean + some.offset).mean(axis=0)
            error = np.full(len(value), np.nan)
            if size > 1:
                users = (some.mean + some.offset).var(axis=0, ddof=1)
                error = np.sqrt((users + (some.ties + some.sampling).mean(axis=0)) / size)
            ends = value - t * error, value + t * error
            rows = zip(self.columns, value, error, *ends, strict=True)
            for (metric, estimator), *numbers in rows:
                yield _row(name, metric, estimator, numbers, size)
            for (of, metric), ends_of in self.bounds.items() if bounds else ():
                if of == name:
                    yield _row(name, metric, "bounds", [np.nan, np.nan, *ends_of], size)


def _numbers(sizes: ArrayLike | None) -> str:
    """Return one number, or from where to where they go."""
    if sizes is None:
        return "an unknown number of"
    low, high = np.min(sizes), np.max(sizes)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _row(
    name: str, metric: str, estimator: str, numbers: Iterable[float], size: int
) -> dict[str, Any]:
    values = zip(("value", "standard_error", "low", "high"), map(float, numbers), strict=True)
    names = {"recommender": name, "metric": metric, "estimator": estimator}
    return names | dict(values) | {"users": size}


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


USUAL = ("exact", "uncorrected", "corrected")  # have the same color in every figure
# After Okabe and Ito, Color Universal Design (2008); the markers tell them apart in print, too.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#999999"]
MARKERS = "osD^vPX"


def draw_values(table: pd.DataFrame, caption: str) -> Figure:
    """Draw a table with the columns of `Evaluation.table`."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            'the figure needs matplotlib: pip install "sampled-metrics[report]"'
        ) from error
    metrics = list(dict.fromkeys(table["metric"]))
    names = list(dict.fromkeys(table["recommender"]))
    estimators = [name for name in dict.fromkeys(table["estimator"]) if name != "bounds"]
    height = 1.2 + len(names) * max(0.35, 0.2 * len(estimators))
    figure = Figure(figsize=(max(4.0, 2.8 * len(metrics)), height), layout="constrained")
    panels: Any = figure.subplots(1, len(metrics), sharey=True, squeeze=False)[0]
    for panel, metric in zip(panels, metrics, strict=True):
        _draw_panel(panel, table[table["metric"] == metric], names, estimators)
        panel.set_title(metric)
    panels[0].set_yticks(np.arange(len(names)), names)
    panels[0].set_ylim(len(names) - 0.5, -0.5)  # the first one on top
    handles, labels = panels[0].get_legend_handles_labels()
    if len(labels) > 1:
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    figure.supxlabel("\n".join(wrap(caption, 30 * len(metrics) + 15)), fontsize="small")
    return figure


def _draw_panel(panel: Axes, table: pd.DataFrame, names: list[str], estimators: list[str]) -> None:
    place = table["recommender"].map({name: i for i, name in enumerate(names)})
    bounds = table["estimator"] == "bounds"
    if bounds.any():
        span = (table["high"] - table["low"])[bounds]
        panel.barh(
            place[bounds], span, 0.8, table["low"][bounds], color="0.88", label="what is possible"
        )
    others = [name for name in estimators if name not in USUAL]
    for i, estimator in enumerate(estimators):
        look = [*USUAL, *others].index(estimator)
        rows = table[table["estimator"] == estimator]
        panel.errorbar(
            rows["value"],
            place[rows.index] + (i - (len(estimators) - 1) / 2) * 0.7 / len(estimators),
            xerr=(rows["high"] - rows["low"]) / 2,
            fmt=MARKERS[look % len(MARKERS)],
            color=COLORS[look % len(COLORS)],
            label=estimator,
        )
    panel.grid(axis="x", alpha=0.3)
