"""Files of TREC are read in trec_eval's order; tests/peers compares the metrics with it."""

import gzip
import re

import numpy as np
import pytest

from sampled_metrics import Ranks
from sampled_metrics.io import read_qrels, read_run
from shared import known

RUN = """\
t2 Q0 d1 1 0.5 mine
t1 Q0 d7 1 -1e3 mine
t2 Q0 d10 2 2.5 mine

t2\tQ0\td9\t7\t0.5\tmine
t1 Q0 dé 1 3 mine
t2  Q0  d3  1  2.50000000001  mine
"""
QRELS = """\
t1 0 d7 1
t2 0 d9 2
t2 0 d1 0
t2 0 d4 1
t2 0 d10 -2
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "run").write_text(RUN, encoding="utf-8")
    (tmp_path / "qrels").write_text(QRELS, encoding="utf-8")
    return tmp_path / "run", tmp_path / "qrels"


def test_a_run_is_in_the_order_of_trec_eval(files):
    """Descending scores, which single precision may round to one; of one score descending names."""
    run = read_run(files[0])
    assert run.to_dict("list") == {
        "user": ["t2"] * 4 + ["t1"] * 2,
        "item": ["d3", "d10", "d9", "d1", "dé", "d7"],
        "score": [2.50000000001, 2.5, 0.5, 0.5, 3.0, -1000.0],
        "rank": [1, 2, 3, 4, 1, 2],
    }
    qrels = read_qrels(files[1])
    assert qrels["relevance"].tolist() == [1, 2, 0, 1, 0]
    ranks = Ranks.from_recommendations(run, qrels)
    assert known(ranks.users).tolist() == ["t2", "t1"]
    assert ranks.best.tolist() == [3, 2]
    assert ranks.n_relevant.tolist() == [2, 1]
    assert known(ranks.gains).tolist() == [2, 1]


def test_packed_files(files):
    for path in files:
        packed = path.with_suffix(".gz")
        packed.write_bytes(gzip.compress(path.read_bytes()))
        read = read_run if path.name == "run" else read_qrels
        assert read(packed).equals(read(str(path)))


def test_averages_over_ties_instead(files):
    """The documents of a topic as its candidates: two of them tie."""
    got = Ranks.from_scores(read_run(files[0]), {"t2": ["d9"]})
    assert (got.best.tolist(), got.n_tied.tolist(), known(got.n_items).tolist()[0]) == ([3], [1], 4)


def test_topics_of_one_file_only(files, tmp_path):
    run, qrels = read_run(files[0]), read_qrels(files[1])
    with pytest.raises(ValueError, match=r"labels has user 't1', predictions does not.*absent="):
        Ranks.from_recommendations(run[run["user"] == "t2"], qrels)
    got = Ranks.from_recommendations(run[run["user"] == "t2"], qrels, absent="missed")
    assert got.n_relevant.tolist() == [2, 1]
    assert got.n_ranked.tolist() == [1, 0]
    got = Ranks.from_recommendations(run, qrels[qrels["user"] == "t1"])
    assert got.n_relevant.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t1 Q0 d1 1 0.5\n", "line 1: 6 columns expected, 5 found: 't1 Q0 d1 1 0.5\\n'"),
        ("\nt1 Q0 d1 1 0.5 a b\n", "line 2: 6 columns expected, 7 found"),
        ("t1 Q0 d1 1 0.5 a\nt1 Q0 d2 1 high a\n", "line 2: the score is 'high'; it must be a fini"),
        ("t1 Q0 d1 1 nan a\n", "line 1: the score is 'nan'; it must be a finite number"),
        ("t1 Q0 d1 1 inf a\n", "line 1: the score is 'inf'"),
        ("t1 Q0 d1 1 1_0 a\n", "line 1: the score is '1_0'"),
        (
            "t1 Q0 d1 1 1 a\n\nt2 Q0 d1 1 1 a\nt1 Q0 d1 2 9 a\n",
            "line 4: topic 't1' has document 'd1'",
        ),
        ("t1 Q0 d\udcff 1 1 a\n", "line 1: the text is not UTF-8"),
        ("\n", "is empty"),
    ],
)
def test_runs_that_are_refused(tmp_path, text, message):
    path = tmp_path / "run"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(ValueError, match=re.escape(str(path)) + ",? " + re.escape(message)):
        read_run(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t1 0 d1\n", "line 1: 4 columns expected, 3 found"),
        ("t1 0 d1 1\nt1 0 d2 half\n", "line 2: the relevance is 'half'; it must be a finite num"),
        ("t1 0 d1 1\nt1 1 d1 0\n", "line 2: topic 't1' has document 'd1' twice"),
        (f"t1 0 d1 {2**53}\n", f"line 1: the relevance is '{2**53}'"),
    ],
)
def test_qrels_that_are_refused(tmp_path, text, message):
    path = tmp_path / "qrels"
    path.write_text(text)
    with pytest.raises(ValueError, match=re.escape(f"{path}, {message}")):
        read_qrels(path)


def test_a_relevance_may_be_as_large_as_floats_can_count(tmp_path):
    path = tmp_path / "qrels"
    path.write_text(f"t1 0 d1 {2**53 - 1}\n")
    assert read_qrels(path)["relevance"].tolist() == [2**53 - 1]


def test_files_that_cannot_be_opened(tmp_path):
    for read in (read_run, read_qrels):
        with pytest.raises(OSError, match="nowhere"):
            read(tmp_path / "nowhere")
        with pytest.raises(ValueError, match="path is 3; path must be the path of a file"):
            read(3)  # type: ignore[arg-type]
    (tmp_path / "damaged.gz").write_bytes(b"no gzip")
    with pytest.raises(ValueError, match="cannot be unpacked"):
        read_run(tmp_path / "damaged.gz")


def test_scores_beyond_single_precision(tmp_path):
    """They are all infinite to trec_eval, and tie."""
    path = tmp_path / "run"
    path.write_text("t Q0 a 1 1e300 x\nt Q0 b 1 1e299 x\nt Q0 c 1 -1e300 x\n")
    run = read_run(path)
    assert run["item"].tolist() == ["b", "a", "c"]
    assert np.isfinite(run["score"]).all()
