"""Ranks as a table, one row per relevant item: the form in which they are stored and published."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._arguments import (
    LARGEST,
    FloatArray,
    IntArray,
    as_named,
    as_number,
    entries,
    index_of,
    reject,
    rounded,
    shown,
)
from sampled_metrics.io._columns import (
    Ids,
    Table,
    as_table_path,
    column_names,
    number,
    open_table,
    parquet_backend,
    plain_integers,
    refuse_cell,
)
from sampled_metrics.io._pairs import by_integer, by_user, refuse_least, refuse_mixed
from sampled_metrics.ranks import Ranks, as_ranks, misfits, offsets_of, trusted, users_of

if TYPE_CHECKING:
    import pandas as pd

    from sampled_metrics.io._columns import TableLike

# The columns of numbers, and the least that each may hold; a weight is above 0.
OF_USERS = {"n_items": 1, "catalog": 1, "up_to": 1, "n_predicted": 0}
REALS = {"relevance": 0, "weight": 5e-324}
LEAST = {"rank": 1, "n_tied": 0, **OF_USERS, **REALS}
COLUMNS = ("recommender", "user", *LEAST)
MANY = 20  # of so many users, each twice, shuffled rows do so once in 130,000 tables
EXAMPLE = '{"A": ranks_a, "B": ranks_b}'


def rank_table(recommenders: Mapping[str, Ranks | ArrayLike]) -> pd.DataFrame:
    """Return the ranks of some recommenders as one table, with a row for each relevant item.

    Parameters
    ----------
    recommenders : mapping from str to Ranks or array_like of int
        The ranks of each recommender, by its name. A pandas Series names its users by its index.
        Instances of an array, and those of ranks without `users`, are numbered 0, 1, ...

    Returns
    -------
    DataFrame
        The columns

        - recommender: its name;
        - user: the id of the instance;
        - rank: the rank of the relevant item, or its best possible rank if other items tie with
          it; missing if the item was not recommended;
        - n_tied: the number of other candidates with the same score, if there are any;
        - n_items: the number of candidates, if it is known;
        - relevance: how relevant the item is, if the ranks have gains;
        - n_predicted: the length of the user's list of recommendations, if it is known;
        - catalog, up_to, weight: as in `Ranks`, if they are known.

        A column that no recommender has is left out; one that only some have lacks the values of
        the others. A user without relevant items has one row, of relevance 0.

    Raises
    ------
    ValueError
        If `recommenders` is not a dict of ranks, one of them has no relevant item, some name their
        users by integers and others do not, or gains are not among the ideal gains.

    See Also
    --------
    read_ranks : makes ranks from such a table.
    write_ranks : writes it to a file.

    Examples
    --------
    >>> ranks = Ranks.from_lists([[5, 3], [1]], users=["ann", "bob"])
    >>> rank_table({"mine": ranks})
      recommender user  rank
    0        mine  ann     3
    1        mine  ann     5
    2        mine  bob     1
    """
    import pandas as pd

    parts = []
    kinds = []
    for name, ranks in as_named("recommenders", recommenders, EXAMPLE).items():
        argument = f"recommenders[{name!r}]"
        columns = _columns_of(argument, ranks)
        if not (len(columns["rank"]) and np.any(columns.get("relevance", 1))):
            raise ValueError(f"{argument} has no relevant item; there is nothing to keep")
        kinds.append((argument, number(columns["user"], lambda i: "users").kind))
        parts.append(pd.DataFrame({"recommender": name} | columns))
    refuse_mixed("users", kinds)
    table = pd.concat(parts, ignore_index=True)
    if "n_tied" in table:  # of a recommender without ties, 0 where there is a rank
        table["n_tied"] = table["n_tied"].fillna(0).mask(table["rank"].isna())
    return table[[column for column in COLUMNS if column in table]]


def _columns_of(argument: str, ranks: Any) -> dict[str, Any]:
    """Return the columns of one recommender, without its name."""
    import pandas as pd

    users, (rows, shape) = users_of(argument, ranks), as_ranks(ranks, name=argument)
    if len(shape) != 1:
        raise ValueError(f"{argument} has shape {shape}; {argument} must be flat")
    n_rows = np.maximum(rows.n_relevant, 1)
    of_user = np.repeat(np.arange(len(rows)), n_rows)
    place = np.arange(len(of_user)) - offsets_of(n_rows)[of_user]
    is_ranked, is_relevant = place < rows.n_ranked[of_user], place < rows.n_relevant[of_user]

    def of_ranked(given: IntArray) -> Any:
        column = pd.array(np.zeros(len(of_user), np.int64), dtype="Int64")
        column[is_ranked], column[~is_ranked] = given, pd.NA
        return column

    columns = {"user": of_user if users is None else users[of_user], "rank": of_ranked(rows.best)}
    if rows.has_ties:
        columns["n_tied"] = of_ranked(rows.n_tied)
    for name in OF_USERS:
        given = getattr(rows, name)
        if given is not None:
            columns[name] = pd.array(np.broadcast_to(given, len(rows))[of_user], dtype="Int64")
    if rows.weights is not None:
        columns["weight"] = rows.weights[of_user]
    gains = is_relevant.astype(np.float64)
    known = _gains(rows, of_user[is_relevant], is_ranked[is_relevant])
    if known is not None:
        gains[is_relevant] = known
    return columns if known is None and is_relevant.all() else columns | {"relevance": gains}


def _gains(ranks: Ranks, of_user: IntArray, is_ranked: NDArray[np.bool_]) -> FloatArray | None:
    """Return the gains of all relevant items: of those with a rank, then of the others."""
    if ranks.gains is None or ranks.ideal_gains is None:
        return None
    levels, level = np.unique(-ranks.ideal_gains, return_inverse=True)
    every = of_user * len(levels) + level
    some = ranks.instance * len(levels) + np.searchsorted(levels, -ranks.gains)
    keys, left = np.unique(every, return_counts=True)
    np.subtract.at(left, np.searchsorted(keys, some), 1)
    gains = np.empty(len(of_user))
    gains[is_ranked] = ranks.gains
    gains[~is_ranked] = -levels[np.repeat(keys, left) % max(1, len(levels))]
    return gains


def write_ranks(
    recommenders: Mapping[str, Ranks | ArrayLike], path: str | os.PathLike[str]
) -> None:
    """Write the ranks of some recommenders to a file, the table that `rank_table` returns.

    Parameters
    ----------
    recommenders : mapping from str to Ranks or array_like of int
        As in `rank_table`.
    path : path
        A file whose name ends in .parquet or .csv. An existing file is overwritten.

    Raises
    ------
    OSError
        If the file cannot be written.
    ValueError
        If `rank_table` refuses the ranks, users are neither integers nor strings, or a text file
        could not keep their names: an empty one, or strings that look like integers.
    ImportError
        If the file is to be parquet, and neither pyarrow nor polars is installed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_ranks({"mine": [3, 1]}, Path(folder, "ranks.csv"))
    ...     print(Path(folder, "ranks.csv").read_text())
    recommender,user,rank
    mine,0,3
    mine,1,1
    """
    file = as_table_path("path", path)
    if file.suffix not in (".parquet", ".csv"):
        reject("path", str(file), "the name of a .parquet or .csv file")
    table = rank_table(recommenders)
    users = table["user"]
    names: list[Any] = [] if users.dtype.kind == "i" else users.unique().tolist()
    for name in [name for name in names if not isinstance(name, str)][:1]:
        reject("a user of recommenders", name, "an integer or a string, as a file keeps no other")
    if file.suffix == ".csv":
        if "" in names or "" in recommenders:
            raise ValueError('recommenders has the name ""; a .csv file keeps no empty name')
        if names and plain_integers(names) is not None:
            said = f"recommenders has the user {names[0]!r}, a string of digits"
            raise ValueError(f"{said}, as a .csv file keeps integers; write a .parquet file")
        # A carriage return ends a line for readers, but the writer quotes only what it writes.
        returns = any("\r" in name for name in (*names, *recommenders))
        quoting: Any = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
        table.to_csv(file, index=False, encoding="utf-8", lineterminator="\n", quoting=quoting)
    else:
        _write_parquet(table, file)


def _write_parquet(table: pd.DataFrame, file: Path) -> None:
    import narwhals as nw

    text = {"recommender", *([] if table["user"].dtype.kind == "i" else ["user"])}
    schema: dict[str, Any] = {
        name: nw.String if name in text else nw.Float64 if name in REALS else nw.Int64
        for name in map(str, table)
    }
    missing = table.astype(object).where(table.notna(), None)
    columns = {name: missing[name].tolist() for name in schema}
    backend: Any = parquet_backend()
    nw.from_dict(columns, schema, backend=backend).write_parquet(file)


def to_frame(ranks: Ranks, recommender: str = "ranks") -> pd.DataFrame:
    """Return these ranks as a table with a row for each relevant item.

    Parameters
    ----------
    recommender : str
        The recommender's name.

    Returns
    -------
    DataFrame
        As `rank_table` of several recommenders.

    Examples
    --------
    >>> Ranks([3, 1], n_items=9, users=["ann", "bob"]).to_frame("mine")
      recommender user  rank  n_items
    0        mine  ann     3        9
    1        mine  bob     1        9
    """
    return rank_table({recommender: ranks})


def write(ranks: Ranks, path: str | os.PathLike[str], recommender: str = "ranks") -> None:
    """Write these ranks to a file, as `write_ranks` does for several recommenders.

    Parameters
    ----------
    path : path
        A file whose name ends in .parquet or .csv. An existing file is overwritten.
    recommender : str
        The recommender's name.
    """
    write_ranks({recommender: ranks}, path)


def read_ranks(
    table: TableLike,
    *,
    recommender: str | None = "recommender",
    user: str = "user",
    rank: str = "rank",
    n_tied: str = "n_tied",
    n_items: Any = "n_items",
    catalog: Any = "catalog",
    relevance: str = "relevance",
    n_predicted: str = "n_predicted",
    min_relevance: float | None = None,
    ignore: Sequence[str] = (),
) -> dict[str, Ranks]:
    """Make ranks from a table with one row for each relevant item, such as `rank_table` returns.

    Parameters
    ----------
    table : table or path
        The table (of any library that narwhals reads), or the path of one (.parquet or .csv). It
        must have the columns `user` and `rank`; a missing rank means that the item was not
        recommended. Rows may have any order. An index is not read, and refused if it has a name.
    recommender : str or None
        The column with the recommenders' names. All rows belong to one recommender with None, or
        if the table lacks this column and has only those named here.
    user, rank, n_tied, relevance, n_predicted : str
        The names of the other columns.
    n_items, catalog : str, int, dict or Series
        The names of these columns, too, or the numbers themselves where the table does not hold
        them, one for all or by user: ``n_items=100, catalog=3706`` of ranks among a sample.
    min_relevance : float, optional
        The least relevance that counts as relevant; by default all above 0.
    ignore : list of str
        Further columns that do not matter, besides item and group. Any other column must be the
        same in all rows of a user and a recommender, as these are the relevant items of one
        ranking: it could be a fold or a seed. Without such a column, two runs of the same users
        pasted together are told by their rows, in one order, or in any for 20 users or more; fewer
        users in another order look like several relevant items of each.

    Returns
    -------
    dict from str to Ranks
        The ranks of each recommender. In each column except `rank`, all of its rows must have a
        value, or none may. Without names, the only one is called like the file, or "ranks".

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If a column or a user is missing, or there are no rows; if a user's ranks cannot be those of
        one ranking, or all users come one time after another; if a value is missing in some rows
        only, or a column that describes the user differs between the user's rows; if the index has
        a name, or `ignore` a column that is read.
    ImportError
        If the file is parquet, and neither pyarrow nor polars is installed.

    See Also
    --------
    sampled_metrics.io.rank_table : makes such a table, and says what its columns are.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"user": ["ann", "ann", "bob"], "rank": [5, 3, None]})
    >>> ranks = read_ranks(table)["ranks"]
    >>> ranks.users, ranks.best, ranks.n_relevant
    (array(['ann', 'bob'], dtype=object), array([3, 5]), array([2, 1]))
    """
    sizes = {"n_items": n_items, "catalog": catalog}
    numbers = {name: given for name, given in sizes.items() if not isinstance(given, str)}
    named = column_names(
        user=user,
        rank=rank,
        n_tied=n_tied,
        relevance=relevance,
        n_predicted=n_predicted,
        recommender="recommender" if recommender is None else recommender,
        **{name: name for name in ("up_to", "weight")},
        **sizes | {name: name for name in numbers},
    )
    if recommender is None:
        del named["recommender"]
    ignored = entries("ignore", ignore, '["title"]')
    for name in ignored:
        if not isinstance(name, str) or name in named.values():
            raise ValueError(f"ignore has {shown(name)}; it must name a column that is not read")
    index = index_of(table)
    if index is not None and (index.nlevels > 1 or index.name is not None):
        said = f"table has the index {shown(list(index.names))}, which is not read"
        raise ValueError(f"{said}; give table.reset_index(), or table.reset_index(drop=True)")
    least = None if min_relevance is None else as_number("min_relevance", min_relevance)
    return ranks_by_name("table", table, named, ignored, numbers, least)


def ranks_by_name(
    argument: str,
    table: TableLike,
    named: Mapping[str, str],
    ignore: Sequence[str] = (),
    numbers: Mapping[str, Any] | None = None,
    least: float | None = None,
) -> dict[str, Ranks]:
    """Make ranks as `read_ranks` does, from a table that the caller gave as this argument.

    `numbers` are columns that the table need not have, given by user.
    """
    # A column of another name than its keyword is meant to be there.
    must = {key: name for key, name in named.items() if key in ("user", "rank") or name != key}
    opened = open_table(argument, table, must, named, whole=True)
    if not len(opened):
        raise ValueError(f"{argument} has no rows; give one row for each relevant item")
    more = further_columns(opened.there, {*opened.columns.values(), *ignore})
    names, codes = _recommenders(opened, table, more if "recommender" in named else [])
    users = opened.ids("user")
    ranking = codes * len(users.names) + users.codes
    _check_one_ranking(opened, more, ranking, users)
    _check_once(opened, codes, ranking, users)
    values = {key: opened.numbers(key) for key in LEAST if key in opened}
    rows = Rows(argument, users, np.arange(len(opened)), values)
    for key, given in (numbers or {}).items():
        each = by_user(key, given, users.names)[users.codes]
        if key in values:
            other = ~np.isnan(values[key]) & (values[key] != each)
            rows.refuse(key, other, f"the argument {key} says otherwise; leave one of them out")
        values[key] = each
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))[:-1]
    parts = np.split(by_integer(codes, len(names)), ends)
    return {name: ranks_of(rows.of(part), least) for name, part in zip(names, parts, strict=True)}


def _recommenders(opened: Table, given: object, more: list[str]) -> tuple[list[str], IntArray]:
    """Return the names of the recommenders, and the number of each row's."""
    if "recommender" in opened:
        ids = opened.ids("recommender")
        return [str(name) for name in ids.names.tolist()], ids.codes
    if more:
        remedy = f"give recommender={more[0]!r}, or recommender=None if all rows are of one"
        raise ValueError(f"{opened.name} has no column 'recommender', but {more[0]!r}; {remedy}")
    name = Path(given).stem if isinstance(given, str | os.PathLike) else "ranks"
    return [name], np.zeros(len(opened), np.int64)


def _check_one_ranking(table: Table, more: list[str], ranking: IntArray, users: Ids) -> None:
    """Refuse a column that differs between rows of a ranking: they may be several rankings."""
    _, first, which = np.unique(ranking, return_index=True, return_inverse=True)
    if len(first) == len(ranking):
        return
    same = first[which]
    for name in more:
        values = table.frame[name].to_list()
        for i in np.flatnonzero(_differ(values, same))[:1].tolist():
            raise ValueError(
                f"{table.name}, row {i}: user {users.name(i)!r} has {name!r} {shown(values[i])}, "
                f"in row {same[i]} {shown(values[same[i]])}; a user has one ranking: keep one "
                f"{name!r}, or if it describes the items, give ignore=[{name!r}]"
            )


def _check_once(table: Table, codes: IntArray, ranking: IntArray, users: Ids) -> None:
    """Refuse users who come again: with the same item, or all of them one part after another."""
    import pandas as pd

    remedy = "as of two seeds or sessions; tell these apart by a column, given as recommender="
    if "item" in table.there:
        item = pd.factorize(np.fromiter(table.frame["item"], dtype=object, count=len(table)))[0]
        twice = pd.DataFrame({"ranking": ranking, "item": item}).duplicated() & (item >= 0)
        for i in np.flatnonzero(twice)[:1] if item.any() else ():
            one = f"{table.name}, row {i}: user {users.name(i)!r} has this item twice"
            raise ValueError(f"{one}, {remedy}")
        return
    for recommender in np.unique(codes):
        user = pd.factorize(ranking[codes == recommender])[0]
        n = int(user.max()) + 1
        if not 1 < n < len(user) or len(user) % n:
            continue
        parts = user.reshape(-1, n)  # the first users are called 0, 1, ... in their order
        if ((np.sort(parts) if n >= MANY else parts) == np.arange(n)).all():
            all_of = f"{table.name} has all users once in each of {len(parts)} parts of its rows"
            many = "if users have several relevant items, sort the rows by user"
            raise ValueError(f"{all_of}, {remedy}; {many}")


def _differ(values: list[Any], same: IntArray) -> NDArray[np.bool_]:
    """Tell which values differ from those at other places."""
    import pandas as pd

    try:
        codes = pd.factorize(np.fromiter(values, dtype=object, count=len(values)))[0]
    except TypeError:  # lists and the like
        codes = pd.factorize(np.array([str(value) for value in values], dtype=object))[0]
    return np.asarray(codes != codes[same])


NAMELESS = re.compile(r"|Unnamed: \d+|__index_level_\d+__")  # how files call such an index


def further_columns(there: Iterable[str], known: Collection[str]) -> list[str]:
    """Return the columns of a table of ranks that may tell several rankings of a user apart."""
    named = [name for name in there if isinstance(name, str)]
    nameless = [name for name in named if NAMELESS.fullmatch(name)]
    is_index = len(nameless) == 1 and nameless[0] in (named[0], "__index_level_0__")
    index = nameless if is_index else []
    return [name for name in named if name not in {*known, *index, "item", "group"}]


@dataclass(frozen=True)
class Rows:
    """The rows of one recommender."""

    table: str  # the argument that holds them
    users: Ids  # of all rows of the table
    numbers: IntArray  # which of these rows they are
    values: dict[str, NDArray[Any]]  # by column, NaN where one is missing

    def of(self, chosen: NDArray[Any]) -> Rows:
        """Return some of the rows."""
        values = {keyword: each[chosen] for keyword, each in self.values.items()}
        return replace(self, numbers=self.numbers[chosen], values=values)

    def refuse(self, keyword: str, bad: NDArray[np.bool_], rule: str) -> None:
        """Raise the error for the first of the rows that is bad, if there is one."""

        def at(i: int) -> str:
            row = self.numbers[i]
            return f"{self.table}, row {row}, user {self.users.name(row)!r}: the {keyword}"

        refuse_cell(at, self.values[keyword], bad, rule)

    def given(self, keyword: str, found: NDArray[np.bool_] | None = None) -> NDArray[Any] | None:
        """Return the numbers in a column, in those rows that are `found`; None if it has none."""
        values, low = self.values.get(keyword), LEAST[keyword]
        if values is None or (missing := np.isnan(values)).all():
            return None
        if found is None:
            self.refuse(keyword, missing, "give it in all rows of a recommender, or in none")
        else:
            self.refuse(keyword, missing & found, "give it wherever there is a rank")
            self.refuse(keyword, ~missing & ~found, "there is no rank that goes with it")
            values = np.where(found, values, low)
        fits = np.isfinite(values) & (values >= low)
        if keyword in REALS:
            self.refuse(
                keyword, ~fits, f"it must be finite and {'above 0' if low else '0 or above'}"
            )
            return values.astype(np.float64)
        fits &= (values <= LARGEST) & (values == np.floor(values))
        self.refuse(keyword, ~fits, f"it must be a whole number of at least {low}")
        rule = f"give it as an integer: {values.dtype} rounds numbers of this size"
        self.refuse(keyword, rounded(values), rule)
        return values.astype(np.int64)


def ranks_of(all_rows: Rows, least: float | None) -> Ranks:
    """Return the ranks of one recommender."""
    import pandas as pd

    every = pd.factorize(all_rows.users.codes[all_rows.numbers])[0].astype(np.int64)
    first = np.unique(every, return_index=True)[1]
    each = _of_users(all_rows, every, first)
    gains, rows, user = all_rows.given("relevance"), all_rows, every
    if gains is None:
        refuse_least(rows.table, least)
    else:
        kept = gains >= (least or LEAST["weight"])
        rows, user, gains = rows.of(kept), every[kept], gains[kept]
        gains = None if (gains == 1).all() and not kept.all() else gains
    found = ~np.isnan(rows.values["rank"])
    best, tied = rows.given("rank", found), rows.given("n_tied", found)
    best = np.ones(len(user), np.int64) if best is None else best
    tied = np.zeros_like(best) if tied is None else tied
    ranked = np.flatnonzero(found)
    for bad, rule in misfits(best[ranked], tied[ranked], user[ranked]):
        rows.refuse("rank", np.isin(np.arange(len(best)), ranked[bad]), rule)
    for name in ("n_items", "n_predicted", "up_to"):
        if name in each:
            worst = best + (tied if name != "up_to" else 0)
            rows.refuse("rank", found & (worst > each[name][user]), f"it must be at most {name}")
    relevant = np.bincount(user, minlength=len(first))
    if "n_items" in each:
        few = (relevant > each["n_items"])[user]
        rows.refuse("n_items", few, "the user has more relevant items than that")
    made: dict[str, Any] = each | {"weights": each.pop("weight", None)}
    if "up_to" in made:
        made["up_to"] = int(made["up_to"][0])
    keys = (best, user) if gains is None else (-gains, best, user)
    order = ranked[np.lexsort([key[ranked] for key in keys])]
    if gains is not None:
        made |= {"gains": gains[order], "ideal_gains": gains[np.lexsort((-gains, user))]}
    return trusted(
        best[order],
        offsets_of(np.bincount(user[ranked], minlength=len(first))),
        relevant,
        n_tied=tied[order],
        users=all_rows.users.names[all_rows.users.codes[all_rows.numbers]][first],
        **made,
    )


def _of_users(rows: Rows, user: IntArray, first: IntArray) -> dict[str, Any]:
    """Return what rows say of their users, whose first rows these are: the same in all of them."""
    names = (*OF_USERS, "weight")
    each = {name: given for name in names if (given := rows.given(name)) is not None}
    for name, given in each.items():
        same = given[0] if name == "up_to" else given[first][user]
        of = "all rows" if name == "up_to" else "all rows of a user"
        rows.refuse(name, given != same, f"it must be the same in {of}")
    if "catalog" in each:
        few = each["catalog"] < each.get("n_items", np.inf)
        rows.refuse("catalog", few, "it must be at least n_items, and go with it")
    return {name: given[first] for name, given in each.items()}
