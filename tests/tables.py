"""One long table in all the forms that the package takes, and ids of all kinds."""

import uuid

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa


def shuffled(table, seed=1):
    """The rows in another order, with an index that says nothing about them."""
    order = np.random.default_rng(seed).permutation(len(table))
    return table.iloc[order].set_axis(order[::-1], axis="index")


FORMS = {
    "pandas": lambda table: table,
    "index": lambda table: table.set_axis([7] * len(table), axis="index"),
    "polars": lambda table: pl.DataFrame(table.to_dict("list")),
    "polars, lazy": lambda table: pl.DataFrame(table.to_dict("list")).lazy(),
    "pyarrow": lambda table: pa.table(table.to_dict("list")),
    "narwhals": lambda table: nw.from_native(table),
    "more columns": lambda table: table.assign(more=[object()] * len(table)),
}


def names(ids):
    return [f"id {i}" for i in ids]


def uuids(ids):
    return [uuid.UUID(int=int(i)) for i in ids]


# The same ids, by what they are: a function of an array of integers returns a pandas column.
IDS = {
    "int": lambda ids: pd.Series(ids),
    "large": lambda ids: pd.Series(ids + 2**62),
    "negative": lambda ids: pd.Series(-ids),
    "int32": lambda ids: pd.Series(ids, dtype=np.int32),
    "uint64": lambda ids: pd.Series(ids, dtype=np.uint64),
    "float": lambda ids: pd.Series(ids, dtype=np.float64),
    "nullable": lambda ids: pd.Series(ids, dtype="Int64"),
    "objects": lambda ids: pd.Series(ids, dtype=object),
    "category of int": lambda ids: pd.Series(ids, dtype="category"),
    "arrow int": lambda ids: pd.Series(ids, dtype="int64[pyarrow]"),
    "str": lambda ids: pd.Series(names(ids)),
    "objects of str": lambda ids: pd.Series(names(ids), dtype=object),
    "string": lambda ids: pd.Series(names(ids), dtype="string"),
    "category": lambda ids: pd.Series(names(ids), dtype="category"),
    "arrow str": lambda ids: pd.Series(names(ids), dtype="string[pyarrow]"),
    "UUID": lambda ids: pd.Series(uuids(ids), dtype=object),
    "bytes": lambda ids: pd.Series([bytes(str(i), "ascii") for i in ids], dtype=object),
    "dates": lambda ids: pd.Series(pd.Timestamp(0) + pd.to_timedelta(np.asarray(ids), unit="D")),
    "tuples": lambda ids: pd.Series([(1, int(i)) for i in ids], dtype=object),
}
# Columns that pandas has not.
OTHER_IDS = {
    "polars Categorical": lambda ids: pl.Series(names(ids), dtype=pl.Categorical),
    "polars Enum": lambda ids: pl.Series(names(ids), dtype=pl.Enum(sorted(set(names(ids))))),
    "polars Object": lambda ids: pl.Series(uuids(ids), dtype=pl.Object),
    "polars UInt8": lambda ids: pl.Series(ids, dtype=pl.UInt8),
    "arrow dictionary": lambda ids: pa.array(names(ids)).dictionary_encode(),
    "arrow large": lambda ids: pa.array(names(ids), pa.large_string()),
    "arrow UUID": lambda ids: pa.array([u.bytes for u in uuids(ids)], pa.uuid().storage_type),
}


def column(kind, ids):
    """A column of ids of a kind, from an array of integers."""
    return (IDS | OTHER_IDS)[kind](np.asarray(ids))


def listed(column):
    """The entries of a column."""
    return column.to_pylist() if isinstance(column, pa.Array) else column.to_list()


def with_ids(table, kind):
    """The table with the ids of its integer columns user and item in another kind."""
    ids = {name: column(kind, table[name]) for name in ("user", "item")}
    if kind in IDS:
        return table.assign(**{name: values.array for name, values in ids.items()})
    others = {name: table[name].to_numpy() for name in table if name not in ids}
    return (pa.table if kind.startswith("arrow") else pl.DataFrame)(ids | others)
