"""One tiny data set, and a small model of each library fitted to it.

Users and items are names, and no library numbers them as we do: whatever pairs them wrongly shows.
"""

from contextlib import chdir
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from sampled_metrics import Split

N_USERS, N_ITEMS = 8, 13


def pytest_collection_modifyitems(items):
    """What the libraries warn of, while they are imported and fitted, is not about us."""
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("ignore"))


@pytest.fixture(scope="session")
def events():
    """Training and held-out events; every user has five of the former and two of the latter."""
    rng = np.random.default_rng(0)
    users = [f"user {u}" for u in rng.permutation(N_USERS)]
    rows = [
        (user, f"item {item}", place)
        for user in users
        for place, item in enumerate(rng.permutation(N_ITEMS)[:7])
    ]
    table = pd.DataFrame(rows, columns=["user", "item", "place"])
    train, test = table[table["place"] < 5], table[table["place"] >= 5]
    assert train["item"].nunique() == N_ITEMS
    return SimpleNamespace(train=train[["user", "item"]], test=test[["user", "item"]])


@pytest.fixture(scope="session")
def split(events):
    train, test = events.train, events.test
    return Split.from_pairs(train["user"], train["item"], test["user"], test["item"])


@pytest.fixture(scope="session")
def implicit(split):
    """Factors: ``model.user_factors``, ``model.item_factors``, ``model.recommend``."""
    from implicit.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(factors=4, iterations=5, random_state=0)
    model.fit(split.train, show_progress=False)
    return model


@pytest.fixture(scope="session")
def cornac(events):
    """A model with ``score(user)`` for all items, by numbers of its own."""
    from cornac.data import Dataset
    from cornac.models import BPR

    rows = events.train.sample(frac=1, random_state=0).assign(rating=1.0)
    data = Dataset.from_uir(list(rows.itertuples(index=False, name=None)))
    return BPR(k=4, max_iter=20, seed=0).fit(data)


@pytest.fixture(scope="session")
def lenskit(events):
    """A pipeline, and the data set that it was trained on."""
    from lenskit.als import ImplicitMFScorer
    from lenskit.data import from_interactions_df
    from lenskit.pipeline import topn_pipeline
    from lenskit.training import TrainingOptions

    data = from_interactions_df(events.train, user_col="user", item_col="item")
    pipeline = topn_pipeline(ImplicitMFScorer(features=4, epochs=5))
    pipeline.train(data, TrainingOptions(rng=0))
    return SimpleNamespace(pipeline=pipeline, data=data)


@pytest.fixture(scope="session")
def rectools(events):
    """A model, and the data set that it was fitted on."""
    from rectools import Columns
    from rectools.dataset import Dataset
    from rectools.models import EASEModel

    names = {"user": Columns.User, "item": Columns.Item}
    data = Dataset.construct(
        events.train.rename(columns=names).assign(
            **{Columns.Weight: 1, Columns.Datetime: "2026-01-01"}
        )
    )
    return SimpleNamespace(model=EASEModel(regularization=5).fit(data), data=data)


@pytest.fixture(scope="session")
def recbole(events, tmp_path_factory):
    """A model, and the data set on which item 0 and user 0 are padding."""
    from recbole.config import Config
    from recbole.data import create_dataset, data_preparation
    from recbole.model.general_recommender import BPR
    from recbole.trainer import Trainer

    folder = tmp_path_factory.mktemp("recbole")
    (folder / "tiny").mkdir()
    for part in ("train", "test"):
        rows = getattr(events, part).set_axis(["user_id:token", "item_id:token"], axis=1)
        rows.to_csv(folder / "tiny" / f"tiny.{part}.inter", sep="\t", index=False)
    settings = {
        "data_path": str(folder),
        "benchmark_filename": ["train", "test", "test"],
        "load_col": {"inter": ["user_id", "item_id"]},
        "embedding_size": 4,
        "epochs": 3,
        "use_gpu": False,
        "show_progress": False,
        "state": "ERROR",
        "checkpoint_dir": str(folder),
        "eval_args": {"mode": "full", "order": "RO", "group_by": "user"},
    }
    with chdir(folder):  # RecBole leaves logs where it is run
        config = Config(model="BPR", dataset="tiny", config_dict=settings)
        data = create_dataset(config)
        train, _, test = data_preparation(config, data)
        model = BPR(config, train.dataset)
        Trainer(config, model).fit(train, saved=False, show_progress=False)
    return SimpleNamespace(model=model, data=data, test=test)
