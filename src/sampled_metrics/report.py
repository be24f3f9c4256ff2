"""What an evaluation found: tables, tests of all pairs, a figure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._checks import RNG, as_flag, as_generator, as_integer
from sampled_metrics._moments import Moments, clean_mean
from sampled_metrics._significance import paired_tests
from sampled_metrics.bounds import Bounds
from sampled_metrics.comparison import each_column
from sampled_metrics.sampling import Draw

if TYPE_CHECKING:
    import pandas as pd
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

    @property
    def table(self) -> pd.DataFrame:
        """Mean, standard error and interval of each value.

        Columns recommender, metric, estimator, value, standard_error, low, high, users. The
        estimator is "exact" for the exact metric. For sampled ranks, there are also rows "bounds":
        without any assumption, the exact metric of the population is between low and high.
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
                "there are no expected values of a draw; give exact ranks and a draw, as in "
                "evaluate(ranks, metrics, Draw(100))"
            )
        truth_of = [at[self.columns[i][0], "exact"] for i in drawn]
        rows = []
        for a, b in combinations(self.moments, 2):
            one, other = self.moments[a], self.moments[b]
            truth = clean_mean(one.mean[:, truth_of] - other.mean[:, truth_of])
            one, other = (moments.take((slice(None), drawn)) for moments in (one, other))
            for i, found in zip(drawn, each_column(one, other, truth), strict=True):
                names = dict(zip(("metric", "estimator"), self.columns[i], strict=True))
                rows.append({"first": a, "second": b} | names | asdict(found))
                rows[-1]["standard_error"] = found.standard_error
                rows[-1]["order_kept"] = found.order_kept
                rows[-1]["right_order"] = found.right_order()
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
        from sampled_metrics._plot import draw_values

        return draw_values(self.table, f"{self._setting()}; {self.confidence:.0%} intervals")

    def _wide(self) -> pd.DataFrame:
        """Return one row per recommender and estimator, one column per metric, as text."""
        table = self.table
        value, error, low, high = (
            table[name].map("{:.4f}".format) for name in ("value", "standard_error", "low", "high")
        )
        is_bounds = table["estimator"] == "bounds"
        table["text"] = (value + " ± " + error).mask(is_bounds, low + " to " + high)
        wide = table.pivot(index=["recommender", "estimator"], columns="metric", values="text")
        rows = list(dict.fromkeys(zip(table["recommender"], table["estimator"], strict=True)))
        wide.columns.name = None
        return wide.reindex(index=rows, columns=list(dict.fromkeys(table["metric"])), fill_value="")

    def _caption(self) -> str:
        bounds = f"; bounds at {self.confidence:.0%}" if self.bounds else ""
        return f"{self._setting()}; value ± standard error{bounds}"

    def _setting(self) -> str:
        users = f"{len(self.users):,} users"
        if self.draw is None:
            return users
        kind = "with" if self.draw.replacement else "without"
        return f"{users}, {self.draw.n_samples} sampled items each ({kind} replacement)"

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


def _row(
    name: str, metric: str, estimator: str, numbers: Iterable[float], size: int
) -> dict[str, Any]:
    values = zip(("value", "standard_error", "low", "high"), map(float, numbers), strict=True)
    names = {"recommender": name, "metric": metric, "estimator": estimator}
    return names | dict(values) | {"users": size}
