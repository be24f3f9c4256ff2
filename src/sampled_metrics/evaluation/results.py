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
from sampled_metrics.evaluation._fits import Tables
from sampled_metrics.evaluation._moments import Moments, clean_mean, variance_of_ties
from sampled_metrics.evaluation.compare import each_column
from sampled_metrics.evaluation.intervals import Units, interval, sign_tests, units
from sampled_metrics.ranks import Ranks
from sampled_metrics.sampling import Draw, check_own_samples

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    clusters : ndarray of int, shape (n_users,), or None
        The cluster of each user; without it, all users are independent of each other.
    ends : ndarray, shape (n_columns, 2)
        The least and the largest possible value; NaN if there are none that are known.
    bounds : dict of tuple of str to Bounds
        The bounds that a sample gives for a recommender's exact metric, by the names of both.
    draw : Draw or None
        The draw that was made, or would be made.
    confidence : float
        Confidence of all intervals and bounds.
    among : ndarray of int, shape (n_users,), or None
        The number of candidates of each user.
    drawn : tuple of dict of str to Ranks, and Tables, or None
        The exact ranks that would be drawn from, and the estimates that this would give.
    """

    moments: dict[str, Moments]
    columns: list[Column]
    users: NDArray[Any]
    groups: NDArray[Any] | None
    clusters: IntArray | None
    ends: FloatArray
    bounds: dict[tuple[str, str], Bounds]
    draw: Draw | None
    confidence: float
    among: IntArray | None
    drawn: tuple[dict[str, Ranks], Tables] | None

    @property
    def table(self) -> pd.DataFrame:
        """Mean, standard error and interval of each value.

        Columns recommender, metric, estimator, value, standard_error, low, high, users. The
        estimator is "exact" for the exact metric. For sampled ranks, there are also rows "bounds":
        the exact metric of the population is between low and high. These are NaN, and are printed
        as "none possible", if no ranks explain the sample: at this confidence, it was not drawn as
        the draw says.
        The standard error covers the change that other users, other samples and other ways to
        break ties would make, if users are independent, or clusters where there are any, and draws
        are uniform. It does not cover the bias of an estimator.

        The interval is Student's, as if two more users had come: one with the lowest value that
        is possible, and one with the highest (after Agresti & Caffo 2000). It stays where the
        metric can be. In simulations with 8 to 2,000 users, metrics from recall of .01 to AUC, and
        skewed and even ranks, it covered the mean of all users in 92 percent of the cases or more,
        and in 94 percent from 500 users on; where few users have a value other than 0, Student's
        own covered it in fewer than half. A metric of your own gets Student's own interval, unless
        it says that it is `bounded`. Clusters count by their number, or, where some are larger than
        others, by as many of equal size as say as much (Kish 1965).
        """
        import pandas as pd

        return pd.DataFrame([*self._rows(self._units(), bounds=True)])

    @property
    def by_group(self) -> pd.DataFrame:
        """The same table for each group of users, with a first column group and without bounds.

        Raises
        ------
        ValueError
            If the evaluation has no groups.
        """
        import pandas as pd

        return pd.DataFrame(
            [
                {"group": name} | row
                for name, x in self._parts()
                for row in self._rows(self._units(x), x)
            ]
        )

    @property
    def macro(self) -> pd.DataFrame:
        """The same table for the mean of the groups' means, in which all groups count the same.

        The groups themselves are taken as given: the standard error is that of new users of them.
        It is NaN if a group has but one user or cluster.

        Raises
        ------
        ValueError
            If the evaluation has no groups.

        Examples
        --------
        >>> from sampled_metrics import Recall, evaluate
        >>> groups = ["many"] * 6 + ["few"] * 2
        >>> found = evaluate({"A": [1, 4, 2, 1, 3, 2, 30, 9]}, [Recall(5)], groups=groups)
        >>> found.table["value"][0], found.macro["value"][0]
        (np.float64(0.75), np.float64(0.5))
        """
        import pandas as pd

        self._parts()
        return pd.DataFrame([*self._rows(self._units(macro=True))])

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
        self,
        *,
        by_group: bool = False,
        n_resamples: int = 9999,
        rng: RNG = None,
        progress: bool = True,
    ) -> pd.DataFrame:
        """Compare all pairs of recommenders by what was measured, user by user.

        For what a draw would give on average, which was not measured, see `orders`.

        Parameters
        ----------
        by_group : bool
            Whether to compare within each group; the table then has a first column group.
        n_resamples : int
            Number of randomizations. Where there are no more than that, all are looked at, and
            where all differences are of one size, as those of recall often are, the p-value is that
            of the exact binomial test.
        rng : None, int, SeedSequence or Generator
            Source of randomness, as in SciPy.
        progress : bool
            Whether work of more than two seconds shows a progress bar.

        Returns
        -------
        DataFrame
            Columns first, second, metric, estimator; the mean difference (first minus second), its
            standard error, and the ends low and high of its interval, as in `table`; effect_size,
            the mean over the standard deviation of the differences (Cohen's d for pairs); the
            p-values p_t of the paired t test and p_randomization of the paired randomization test
            (Smucker, Allan & Carterette 2007); p_holm, which is p_t adjusted for all pairs, metrics
            and groups of the estimator (Holm 1979); users. Where all users have the same difference
            other than 0, p_t and p_holm are NaN: a t test needs some spread. The interval is longer
            than that of the t test, so it may hold 0 where p_t is a little below 1 - `confidence`.
            All take users to be independent, or clusters where there are any: these are tested by
            the sums of their differences.

        Raises
        ------
        ValueError
            If there are fewer than two recommenders or users, or `n_resamples` is below 2; if
            `by_group` is True, and the evaluation has no groups.

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
        whole: list[tuple[Any, Any]] = [(None, slice(None))]
        parts = self._parts() if as_flag("by_group", by_group) else whole
        show, pairs = as_flag("progress", progress), list(combinations(self.moments, 2))
        frames = []
        for group, x in parts:
            among = self._units(x)
            for estimator, columns in self._measured().items():
                keys = [(*pair, self.columns[i][0], estimator) for pair in pairs for i in columns]
                mean = {name: all_.mean[x][:, columns] for name, all_ in self.moments.items()}
                each = np.hstack([mean[a] - mean[b] for a, b in pairs])
                of_one = self.ends[columns] - self.ends[columns][:, ::-1]
                ends = np.tile(of_one, (len(pairs), 1))
                tests = paired_tests(
                    each, among, ends, self.confidence, count, generator, progress=show
                )
                frame = pd.DataFrame(keys, columns=["first", "second", "metric", "estimator"])
                frames.append(frame.assign(**tests, p_holm=np.nan, users=len(each)))
                if by_group:
                    frames[-1].insert(0, "group", group)
        found = pd.concat(frames, ignore_index=True)
        found["p_holm"] = found.groupby("estimator", sort=False)["p_t"].transform(holm)
        return found

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
            If there was no draw, the ranks were sampled, or one sample is for all users; if there
            are fewer than two recommenders or users.
        """
        import pandas as pd

        self._check_pairs()
        at = {column: i for i, column in enumerate(self.columns)}
        drawn = [i for i, (_, estimator) in enumerate(self.columns) if estimator != "exact"]
        if self.drawn is None:
            raise ValueError(
                "there was no draw of exact ranks: evaluate(ranks, metrics, Draw(100))"
            )
        ranks, tables = self.drawn
        check_own_samples(tables.draw)
        of_ties = {name: variance_of_ties(each, tables) for name, each in ranks.items()}
        truth_of = [at[self.columns[i][0], "exact"] for i in drawn]
        rows = []
        for a, b in combinations(self.moments, 2):
            one, other = self.moments[a], self.moments[b]
            truth = clean_mean(one.mean[:, truth_of] - other.mean[:, truth_of])
            one, other = (moments.take((slice(None), drawn)) for moments in (one, other))
            ties = of_ties[a] + of_ties[b]
            compared = each_column(one, other, ties, truth, self._units())
            for i, found in zip(drawn, compared, strict=True):
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
        """Return the printed table in LaTeX, which needs the package booktabs. It needs Jinja2.

        Returns
        -------
        str
        """
        wide = self._wide().reset_index()
        again = wide["recommender"].duplicated()
        wide["recommender"] = wide["recommender"].mask(again, "")
        text = wide.to_latex(
            index=False, escape=True, caption=self._caption().replace("%", r"\%"),
            column_format="ll" + "r" * (wide.shape[1] - 2),
        )  # fmt: skip
        return text.replace("±", r"$\pm$")

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
        intervals = f"{self.confidence:.0%} intervals, {self._assumed()}"
        return draw_values(self.table, f"{self._setting()}; {intervals}")

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
        return f"{self._setting()}; value ± standard error{bounds}, {self._assumed()}"

    def _assumed(self) -> str:
        """Return what errors and intervals take for granted."""
        if self.clusters is None:
            return "if users are independent"
        return f"if {self.clusters.max() + 1:,} clusters of users are independent"

    def _setting(self) -> str:
        users, draw, among = f"{len(self.users):,} users", self.draw, _numbers(self.among)
        if draw is None:
            return f"{users}, ranked among {among} items"
        kind = {True: "with replacement", False: "without replacement"}.get(
            draw.replacement, "with repeats merged"
        )
        drawn = f"{_numbers(draw.n_samples)} sampled items each (uniform, {kind})"
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
        n_clusters = len(self.users) if self.clusters is None else self.clusters.max() + 1
        counts = {"recommenders": len(self.moments), "users": len(self.users)}
        for what, count in (counts | {"clusters": n_clusters}).items():
            if count < 2:
                raise ValueError(f"there are {count} {what}; a comparison needs two or more")
        if self.draw is not None and self._of_samples:
            check_own_samples(self.draw)

    def _parts(self) -> list[tuple[Any, NDArray[np.intp]]]:
        """Return the name of each group, and the places of its users."""
        if self.groups is None:
            raise ValueError("there are no groups; give them as evaluate(..., groups=...)")
        names, which = np.unique(self.groups, return_inverse=True)
        places = np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which))[:-1])
        return list(zip(names.tolist(), places, strict=True))

    def _units(self, x: Any = slice(None), *, macro: bool = False) -> Units:
        """Return which of some of the users are independent, and how they count."""
        clusters = np.arange(len(self.users)) if self.clusters is None else self.clusters
        return units(clusters[x], self.groups if macro else None)

    def _rows(
        self, among: Units, x: Any = slice(None), *, bounds: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Yield the rows of the table for some of the users."""
        size = len(among.weight)
        for name, moments in self.moments.items():
            some = moments.take(x)
            each = some.mean + some.offset
            value, error = among.mean(each), among.error(each, some.noise)
            ends = interval(value, error, among.size, self.ends, self.confidence)
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


def paired_tests(
    differences: FloatArray,
    among: Units,
    ends: FloatArray,
    confidence: float,
    n_resamples: int,
    rng: np.random.Generator,
    *,
    progress: bool,
) -> dict[str, FloatArray]:
    """Test each column of paired differences, shape (n_users, n_columns), against a mean of 0."""
    from scipy.special import stdtr

    rounding = 1e-12 * np.abs(differences).max(axis=0)
    mean, error = clean_mean(differences), among.error(differences)
    deviation = differences.std(axis=0, ddof=1) if len(differences) > 1 else error
    error, deviation = (np.where(each <= rounding, 0, each) for each in (error, deviation))
    low, high = interval(mean, error, among.size, ends, confidence, least=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        effect, p = mean / deviation, 2 * stdtr(among.size - 1, -np.abs(mean) / error)
    return {
        "difference": mean,
        "standard_error": error,
        "low": low,
        "high": high,
        "effect_size": np.where(mean == 0, 0.0, effect),
        "p_t": np.where(error > 0, p, np.where(mean == 0, 1.0, np.nan)),
        "p_randomization": sign_tests(among.sums(differences), n_resamples, rng, progress=progress),
    }


def holm(family: pd.Series[float]) -> FloatArray:
    """Adjust the p-values of a family of tests by Holm's method; NaN counts as the largest."""
    p = family.to_numpy()
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
            xerr=[rows["value"] - rows["low"], rows["high"] - rows["value"]],
            fmt=MARKERS[look % len(MARKERS)],
            color=COLORS[look % len(COLORS)],
            label=estimator,
        )
    panel.grid(axis="x", alpha=0.3)
