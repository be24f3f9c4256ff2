"""The command line, as a process and by its own function, on good and bad files."""

import json
import subprocess
import sys
from io import StringIO

import numpy as np
import pandas as pd
import pytest

import sampled_metrics
from sampled_metrics import (
    NDCG,
    Draw,
    Ranks,
    Recall,
    ReciprocalRank,
    evaluate,
    explain,
    metric_bounds,
)
from sampled_metrics.cli import main
from sampled_metrics.io import rank_table, write_ranks
from shared import known

USERS = [f"user {i}" for i in range(30)]
RNG = np.random.default_rng(7)
RANKS = {
    name: Ranks(RNG.geometric(0.05, 30), RNG.integers(0, 3, 30), 480, users=USERS) for name in "AB"
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with files of ranks, in which commands run."""
    monkeypatch.chdir(tmp_path)
    write_ranks(RANKS, "ranks.parquet")
    write_ranks(RANKS, "ranks.csv")
    table = pd.read_csv("ranks.csv")
    table.assign(half=np.where(table["user"] < "user 2", "first", "second")).to_csv(
        "grouped.csv", index=False
    )
    draw = Draw(40, n_items=480)
    write_ranks({name: draw.rvs(r.best, rng=1) for name, r in RANKS.items()}, "sampled.csv")
    return tmp_path


def run(*arguments, piped=b""):
    """Run a command as a process; return its code, output and errors."""
    command = [sys.executable, "-m", "sampled_metrics", *arguments]
    found = subprocess.run(command, capture_output=True, input=piped, timeout=120, check=False)
    return found.returncode, found.stdout.decode(), found.stderr.decode()


def table_of(capsys, *arguments):
    """Run a command here and read the CSV that it prints."""
    assert main([*arguments, "--format", "csv"]) == 0
    return pd.read_csv(StringIO(capsys.readouterr().out))


@pytest.mark.parametrize("file", ["ranks.parquet", "ranks.csv"])
def test_evaluate(folder, capsys, file):
    metrics = [Recall(k=10), NDCG(k=10)]
    found = table_of(
        capsys, "evaluate", file, "--metrics", "recall@10", "ndcg@10", "--samples", "40"
    )
    pd.testing.assert_frame_equal(found, evaluate(RANKS, metrics, Draw(40)).table)
    found = table_of(
        capsys, "evaluate", file, "--metrics", "ndcg@10", "--samples", "40", "--without-replacement"
    )
    expected = evaluate(RANKS, metrics[1:], Draw(40, replacement=False)).table
    pd.testing.assert_frame_equal(found, expected)


def test_evaluate_prints_a_table(folder):
    code, out, errors = run("evaluate", "ranks.parquet", "--metrics", "recall@10", "auc")
    assert (code, errors) == (0, "")
    assert "30 users, ranked among 480 items; value ± standard error" in out
    assert f"{Recall(k=10).mean(RANKS['A']):.4f} ±" in out


def test_evaluate_in_other_forms(folder, capsys):
    arguments = ["evaluate", "ranks.csv", "--metrics", "ndcg@10"]
    assert main([*arguments, "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["recommender"] for row in rows] == ["A", "B"]
    assert rows[0]["value"] == pytest.approx(NDCG(k=10).mean(RANKS["A"]))
    assert main([*arguments, "--format", "latex"]) == 0
    assert r"\begin{tabular}" in capsys.readouterr().out


def test_groups(folder, capsys):
    found = table_of(capsys, "evaluate", "grouped.csv", "--metrics", "ndcg@10", "--group", "half")
    groups = np.where(np.array(USERS) < "user 2", "first", "second")
    expected = evaluate(RANKS, [NDCG(k=10)], groups=groups).by_group
    pd.testing.assert_frame_equal(found, expected)


def test_clusters(folder, capsys):
    """Three users a cluster; --compare tests their sums, and says so in the same numbers."""
    clusters = np.arange(30) // 3
    table = pd.read_csv("ranks.csv")
    cluster_of = dict(zip(USERS, clusters.tolist(), strict=True))
    table.assign(person=table["user"].map(cluster_of)).to_csv("clustered.csv", index=False)
    arguments = ["clustered.csv", "--metrics", "ndcg@10", "--clusters", "person"]
    want = evaluate(RANKS, [NDCG(k=10)], clusters=clusters)
    pd.testing.assert_frame_equal(table_of(capsys, "evaluate", *arguments), want.table)
    pd.testing.assert_frame_equal(table_of(capsys, "compare", *arguments), want.comparisons(rng=0))
    assert main(["evaluate", *arguments]) == 0
    assert "if 10 clusters of users are independent" in capsys.readouterr().out
    table.assign(person=table["rank"]).to_csv("clustered.csv", index=False)
    assert main(["evaluate", *arguments]) == 1
    assert "user 0 has the clusters" in capsys.readouterr().err


def test_compare(folder, capsys):
    found = table_of(capsys, "compare", "ranks.csv", "--metrics", "ndcg@10", "--seed", "3")
    expected = evaluate(RANKS, [NDCG(k=10)]).comparisons(rng=3)
    pd.testing.assert_frame_equal(found, expected)
    assert main(["compare", "ranks.csv", "--metrics", "ndcg@10", "--format", "latex"]) == 0
    assert "\n" + r"A & B & NDCG@10 & exact & " in capsys.readouterr().out
    found = table_of(capsys, "compare", "ranks.csv", "--metrics", "ndcg@10", "--samples", "40")
    pd.testing.assert_frame_equal(found, evaluate(RANKS, [NDCG(k=10)], Draw(40)).orders())


def test_the_seed_is_0_and_names_are_escaped(folder, capsys):
    found = table_of(capsys, "compare", "ranks.csv", "--metrics", "ndcg@10")
    pd.testing.assert_frame_equal(found, evaluate(RANKS, [NDCG(k=10)]).comparisons(rng=0))
    write_ranks({"a_b": RANKS["A"], "c": RANKS["B"]}, "named.csv")
    assert main(["compare", "named.csv", "--metrics", "ndcg@10", "--format", "latex"]) == 0
    assert r"a\_b & c &" in capsys.readouterr().out


def test_bounds(folder, capsys):
    sampled, draw = Ranks.read("sampled.csv"), Draw(40, n_items=480)
    found = table_of(
        capsys, "bounds", "sampled.csv", "--metrics", "recall@10", "--samples", "40",
        "--catalog", "480",
    )  # fmt: skip
    assert list(found) == ["recommender", "metric", "low", "high", "users"]
    for name, low, high in zip(found["recommender"], found["low"], found["high"], strict=True):
        ranks = sampled[name]
        assert isinstance(ranks, Ranks)
        assert (low, high) == pytest.approx(metric_bounds(ranks, Recall(k=10), draw))
    code, out, _ = run(
        "evaluate", "sampled.csv", "--metrics", "recall@10", "--samples", "40",
        "--catalog", "480",
    )  # fmt: skip
    assert code == 0
    assert "bounds at 95%" in out


def test_explain(folder, capsys):
    arguments = ["explain", "recall@10", "0.66", "--items", "3706", "--samples", "100"]
    code, out, errors = run(*arguments, "--users", "6040", "--other", "0.64")
    expected = explain(
        Recall(k=10), 0.66, Draw(100, n_items=3706), n_users=6040, other=0.64, decimals=2
    )
    assert (code, out, errors) == (0, f"{expected}\n", "")
    found = table_of(capsys, *arguments)
    expected = explain(Recall(k=10), 0.66, Draw(100, n_items=3706), decimals=2)
    pd.testing.assert_frame_equal(found, expected.to_frame())


def test_explain_takes_several_numbers(folder, capsys):
    arguments = ["explain", "recall@1", "0.30", "recall@10", "0.66", "--items", "3706"]
    arguments += ["--samples", "100", "--other", "0.28", "0.61"]
    assert main(arguments) == 0
    metrics, draw = [Recall(k=1), Recall(k=10)], Draw(100, n_items=3706)
    expected = explain(metrics, [0.3, 0.66], draw, other=[0.28, 0.61], decimals=2)
    assert capsys.readouterr().out == f"{expected}\n"
    pd.testing.assert_frame_equal(table_of(capsys, *arguments), expected.to_frame())


def test_a_sample_that_no_ranks_explain_is_said(folder, capsys):
    write_ranks({"A": [51] * 500}, "odd.csv")
    arguments = ["bounds", "odd.csv", "--metrics", "recall@10", "--samples", "100"]
    assert main([*arguments, "--catalog", "1000", "--format", "csv"]) == 0
    out, errors = capsys.readouterr()
    assert pd.read_csv(StringIO(out))[["low", "high"]].isna().all(axis=None)
    assert errors.startswith("sampled-metrics: A: no ranks explain the sample")


def write_scores(file, users="uvwxyz", **options):
    """Write scores of 20 items for some users, of whom one item each is relevant; return ranks."""
    rng = np.random.default_rng(len(users))
    scores = pd.DataFrame(
        [(user, f"0{item}", rng.normal()) for user in users for item in range(20)],
        columns=["user", "item", "score"],
    ).assign(relevance=np.arange(20 * len(users)) % 20 == 3)
    if file.endswith(".parquet"):
        scores.to_parquet(file)
    else:
        scores.to_csv(file, index=False, **options)
    return scores.groupby("user")["score"].rank(ascending=False)[scores["relevance"]].to_numpy()


@pytest.mark.parametrize(
    ("file", "options"),
    [("mine.csv.gz", {}), ("mine.tsv", {"sep": "\t"}), ("mine.tsv.gz", {"sep": "\t"})],
)
def test_tables_of_text_in_other_files(folder, file, options):
    want = write_scores(file, **options)
    assert main(["rank", file, "--output", "out.csv"]) == 0
    np.testing.assert_array_equal(Ranks.read("out.csv")["mine"].best, want)


@pytest.mark.parametrize("kind", [".csv", ".parquet", ".csv.gz"])
@pytest.mark.parametrize("given", ["mine", "mine/part-*{}"])
def test_parts_are_one_table(folder, capsys, kind, given):
    (folder / "mine").mkdir()
    (folder / "mine/_SUCCESS").touch()
    parts = [write_scores(f"mine/part-{i}{kind}", users) for i, users in enumerate(["uv", "xyz"])]
    assert main(["rank", given.format(kind), "--output", "out.csv"]) == 0
    (ranks,) = Ranks.read("out.csv").values()
    np.testing.assert_array_equal(ranks.best, np.concatenate(parts))
    # The shell's own pattern would make recommenders of them.
    both = [f"mine/part-{i}{kind}" for i in range(2)]
    assert main(["rank", *both, "--output", "other.csv"]) == 1
    assert "give the parts' folder, or their pattern in quotes" in capsys.readouterr().err
    assert not (folder / "other.csv").exists()


def test_parts_of_two_kinds_are_refused(folder, capsys):
    (folder / "mine").mkdir()
    write_scores("mine/part-0.csv", "uv")
    write_scores("mine/part-1.parquet", "xy")
    assert main(["rank", "mine", "--output", "out.csv"]) == 1
    assert "mine holds parquet and text files" in capsys.readouterr().err
    (folder / "none").mkdir()
    assert main(["rank", "none", "--output", "out.csv"]) == 1
    assert "none is a folder without a .parquet or .csv" in capsys.readouterr().err


@pytest.mark.parametrize("file", ["ranks.csv", "ranks.parquet", "ranks.tsv", "ranks.csv.gz"])
def test_a_table_is_piped_in(folder, file):
    table = pd.read_csv("ranks.csv")
    table.to_csv("ranks.tsv", index=False, sep="\t")
    table.to_csv("ranks.csv.gz", index=False)
    arguments = ["--metrics", "recall@10", "--format", "csv"]
    code, out, errors = run("evaluate", "-", *arguments, piped=(folder / file).read_bytes())
    assert (code, errors) == (0, "")
    assert out == run("evaluate", file, *arguments)[1]
    code, _, errors = run("rank", "-", "--relevant", "-", "--output", "out.csv")
    assert code == 1
    assert "- is given twice; only one table can be piped in" in errors


def test_lists_and_runs_become_ranks(folder, capsys):
    """Ann's item is second of two, Bob's is not there; and the same as a run with its qrels."""
    (folder / "mine.csv").write_text("user,item,place\nann,x,1\nann,y,2\nbob,x,1\n")
    (folder / "test.csv").write_text("user,item\nann,y\nbob,z\ncarl,z\n")
    arguments = ["--relevant", "test.csv", "--form", "lists", "--output", "out.csv"]
    assert main(["rank", "mine.csv", *arguments, "--rank", "place", "--absent", "missed"]) == 0
    ranks = Ranks.read("out.csv")["mine"]
    assert Recall(k=2)(ranks).tolist() == [1, 0, 0]
    assert main(["rank", "mine.csv", *arguments, "--rank", "place"]) == 1
    assert "carl" in capsys.readouterr().err
    (folder / "bm25.run").write_text("ann Q0 x 1 2.0 a\nann Q0 y 2 1.0 a\nbob Q0 x 1 0.5 a\n")
    (folder / "qrels.txt").write_text("ann 0 y 1\nbob 0 z 1\n")
    arguments = ["--relevant", "qrels.txt", "--form", "run", "--output", "out.csv"]
    assert main(["rank", "bm25.run", *arguments]) == 0
    assert Recall(k=2)(Ranks.read("out.csv")["bm25"]).tolist() == [1, 0]
    assert main(["rank", "bm25.run", *arguments, "--exclude", "test.csv"]) == 1
    assert "--exclude does not go with this form of data" in capsys.readouterr().err
    assert main(["rank", "bm25.run", "--form", "run", "--output", "out.csv"]) == 1
    assert "--relevant is missing; --form run needs it" in capsys.readouterr().err


@pytest.mark.parametrize("given", ["mine.csv", "mine*.csv", "./mine.csv"])
def test_an_output_never_overwrites_an_input(folder, capsys, given):
    write_scores("mine.csv")
    before = (folder / "mine.csv").read_bytes()
    assert main(["rank", given, "--output", "mine.csv"]) == 1
    assert "--output mine.csv would overwrite" in capsys.readouterr().err
    assert (
        main(["rank", "-", "--relevant", "mine.csv", "--output", "../" + folder.name + "/mine.csv"])
        == 1
    )
    assert (folder / "mine.csv").read_bytes() == before
    (folder / "parts").mkdir()
    write_scores("parts/a.csv")
    assert main(["rank", "parts", "--output", "parts/new.csv"]) == 1


def test_a_sample_of_a_catalog(folder):
    write_scores("mine.csv")
    assert main(["rank", "mine.csv", "--catalog", "3706", "--output", "out.csv"]) == 0
    ranks = Ranks.read("out.csv")["mine"]
    assert set(known(ranks.catalog)) == {3706}
    assert set(known(ranks.n_items)) == {20}


def test_a_catalog_must_be_that_that_the_file_names(folder, capsys):
    write_ranks({"A": Ranks([1, 2], n_items=6, catalog=90)}, "known.csv")
    arguments = ["bounds", "known.csv", "--metrics", "recall@1", "--samples", "5", "--catalog"]
    assert main([*arguments, "90"]) == 0
    assert main([*arguments, "91"]) == 1
    assert "--catalog is 91, and A is of another catalog in the file" in capsys.readouterr().err


def test_a_warning_is_one_sentence(folder):
    write_ranks({"A": Ranks([1, 2], n_items=101)}, "round.csv")
    code, _, errors = run("evaluate", "round.csv", "--metrics", "recall@1")
    assert code == 0
    assert errors.startswith("sampled-metrics: warning: every user has exactly 101 candidates")
    assert errors.endswith("as --catalog\n")
    assert len(errors.splitlines()) == 1


def test_interrupted(folder, capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("sampled_metrics.evaluation.evaluate", interrupt)
    assert main(["evaluate", "ranks.csv", "--metrics", "recall@10"]) == 130
    assert capsys.readouterr().err == "sampled-metrics: interrupted\n"


def test_version(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"sampled-metrics {sampled_metrics.__version__}\n"


def test_scores_become_ranks(folder):
    rng = np.random.default_rng(0)
    scores = pd.DataFrame(
        [(user, item, rng.integers(9)) for user in "uvw" for item in range(20)],
        columns=["who", "what", "score"],
    )
    scores.to_csv("mine.csv", index=False)
    pd.DataFrame({"who": list("uvw"), "what": [1, 2, 3]}).to_csv("test.csv", index=False)
    pd.DataFrame({"who": list("uvv"), "what": [5, 6, 7]}).to_csv("train.csv", index=False)
    code, out, errors = run(
        "rank", "mine.csv", "--relevant", "test.csv", "--exclude", "train.csv",
        "--user", "who", "--item", "what", "--output", "ranks.csv",
    )  # fmt: skip
    assert (code, out, errors) == (0, "", "")
    ranks = Ranks.read("ranks.csv")["mine"]
    assert isinstance(ranks, Ranks)
    own = scores.pivot(index="who", columns="what", values="score").to_numpy(dtype=float, copy=True)
    own[[0, 1, 1], [5, 6, 7]] = -1
    target = own[np.arange(3), [1, 2, 3]]
    np.testing.assert_array_equal(ranks.best, 1 + (own > target[:, None]).sum(axis=1))
    np.testing.assert_array_equal(ranks.n_items, [19, 18, 20])


def test_columns_of_other_names(folder, capsys):
    table = rank_table(RANKS).rename(columns={"recommender": "model", "user": "who", "rank": "at"})
    table["half"] = np.where(table["who"] < "user 2", "first", "second")
    table["title"] = np.arange(len(table)).astype(str)
    table.to_csv("other.csv", index=False)
    table["shop"] = table["title"] + "!"
    named = ["other.csv", "--recommender", "model", "--user", "who", "--rank", "at"]
    found = table_of(
        capsys, "evaluate", *named, "--metrics", "ndcg@10", "--group", "half", "--ignore", "title",
        "--ignore", "shop",
    )  # fmt: skip
    groups = np.where(np.array(USERS) < "user 2", "first", "second")
    want = evaluate(RANKS, [NDCG(k=10)], groups=groups).by_group
    pd.testing.assert_frame_equal(found, want)
    code, _, errors = run("compare", *named[:-2], "--metrics", "ndcg@10")
    assert code == 1
    assert errors.endswith("as in rank=...\n")


def test_a_group_is_read_as_what_it_is_too(folder, capsys):
    tied = Ranks([1, 1, 2], [0, 1, 2], 9, users=["u", "v", "w"])
    write_ranks({"A": tied}, "tied.csv")
    found = table_of(capsys, "evaluate", "tied.csv", "--metrics", "recall@2", "--group", "n_tied")
    np.testing.assert_allclose(found["value"], Recall(k=2)(tied))  # each is a group of its own
    pd.DataFrame({"user": ["u", "v"], "rank": [1, 4], "shop": ["x", "y"]}).to_csv("one.csv")
    found = table_of(capsys, "evaluate", "one.csv", "--recommender", "", "--metrics", "recall@2")
    assert found["value"].tolist() == [0.5]


def test_ties_of_several_relevant_items(folder, capsys):
    """By default the mean: of u, one of two is at 1 or 2 and the other at 4; v is at 1 or 2."""
    tied = Ranks([4, 1, 1], [0, 1, 1], 9, users=["u", "u", "v"])
    write_ranks({"A": tied}, "several.csv")
    arguments = ["evaluate", "several.csv", "--metrics", "rr", "ndcg@3"]
    found = table_of(capsys, *arguments)
    assert found["value"].tolist() == pytest.approx([0.75, NDCG(k=3).mean(tied)])
    found = table_of(capsys, *arguments, "--ties", "pessimistic")
    assert found["value"][1] == pytest.approx(NDCG(k=3).mean(tied.break_ties("pessimistic")))


def test_random_ties_break_independently_for_each_recommender(folder, capsys):
    """A difference of two recommenders has the noise of two, not of ties that break alike."""
    tied = Ranks(np.ones(500, dtype=int), 99, 110)
    write_ranks({"A": tied, "B": tied}, "ties.parquet")
    arguments = ["compare", "ties.parquet", "--metrics", "rr", "--ties", "random", "--seed", "3"]
    found = table_of(capsys, *arguments)
    rng = np.random.default_rng(3)
    broken = {name: tied.break_ties("random", rng=rng) for name in "AB"}
    want = evaluate(broken, [ReciprocalRank()]).comparisons(rng=3)
    assert found["standard_error"][0] == pytest.approx(want["standard_error"][0])
    assert found["difference"][0] == pytest.approx(want["difference"][0]) != 0


def test_rank_with_ratings_and_users_without_candidates(folder, capsys):
    """Of ann, the item of five stars is second; bob has no scores, so nothing of his is found."""
    (folder / "s.csv").write_text("user,item,score\nann,a,2\nann,b,1\n", encoding="utf-8")
    rows = "user,item,relevance\nann,a,1\nann,b,5\nbob,a,5\n"
    (folder / "test.csv").write_text(rows, encoding="utf-8")
    arguments = ["rank", "s.csv", "--relevant", "test.csv", "--output", "r.csv"]
    for more, says in (([], "min_relevance=4"), (["--min-relevance", "4"], 'absent="missed"')):
        assert main([*arguments, *more]) == 1
        assert says in capsys.readouterr().err
    for absent, mean in (("missed", 0.25), ("left out", 0.5)):
        assert main([*arguments, "--min-relevance", "4", "--absent", absent]) == 0
        assert ReciprocalRank().mean(Ranks.read("r.csv")["s"]) == mean


def test_a_table_of_1_and_99_candidates_is_a_sample_to_the_end(folder, capsys):
    """With --catalog where the ranks are made, or where they are read: the same, and never exact.

    Ranks 1 to 100, one user each, so that Recall@10 of the samples is .1.
    """
    score = np.tile(np.arange(100), 100)
    table = pd.DataFrame({"user": np.repeat(np.arange(100), 100), "item": score, "score": score})
    table["relevance"] = (table["item"] == table["user"]).astype(int)
    table.to_csv("ncf.csv", index=False)
    assert main(["rank", "ncf.csv", "--catalog", "3706", "--output", "said.csv"]) == 0
    assert main(["rank", "ncf.csv", "--output", "unsaid.csv"]) == 0
    assert set(known(Ranks.read("said.csv")["ncf"].catalog)) == {3706}
    metrics = ["--metrics", "recall@10"]
    found = table_of(capsys, "evaluate", "said.csv", *metrics)
    assert found["estimator"].tolist() == ["uncorrected", "corrected", "bounds"]
    assert found["value"][0] == pytest.approx(0.1)
    more = ["--catalog", "3706"]
    pd.testing.assert_frame_equal(
        table_of(capsys, "evaluate", "unsaid.csv", *metrics, *more).drop(columns="recommender"),
        found.drop(columns="recommender"),
    )
    bounds = table_of(capsys, "bounds", "said.csv", *metrics)
    assert bounds["high"][0] == found["high"][2]
    # A user without relevant items has 100 other candidates.
    table.assign(relevance=table["relevance"].mask(table["user"] == 7, 0)).to_csv("n.csv")
    assert main(["rank", "n.csv", "--output", "nobody.csv"]) == 0
    capsys.readouterr()
    nobody, told = (
        table_of(capsys, "evaluate", "nobody.csv", *metrics, *more, *each)
        for each in ([], ["--samples", "99", "--without-replacement"])
    )
    pd.testing.assert_frame_equal(nobody, told)
    assert (told["users"] == 99).all()
    pd.read_csv("unsaid.csv").drop(columns="n_items").to_csv("ranks_only.csv", index=False)
    assert main(["evaluate", "ranks_only.csv", *metrics, *more]) == 1
    assert "n_items" in capsys.readouterr().err
    found = table_of(capsys, "bounds", "ranks_only.csv", *metrics, *more, "--samples", "99",
                     "--without-replacement")  # fmt: skip
    assert found["high"][0] == bounds["high"][0]
    both = pd.concat([pd.read_csv("said.csv").assign(recommender=name) for name in "AB"])
    both.to_csv("both.csv", index=False)
    assert table_of(capsys, "compare", "both.csv", *metrics)["difference"][0] == 0
    assert main(["evaluate", "unsaid.csv", *metrics, "--samples", "99"]) == 1
    assert "give the number of all items as --catalog," in capsys.readouterr().err
    assert main(["evaluate", "said.csv", *metrics, "--catalog", "4000"]) == 1
    assert "the argument catalog says otherwise" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "arguments", "says"),
    [
        (
            "user,item,score\nu,1,2\n",
            ["rank", "bad.csv", "--output", "r.csv"],
            "as in relevance=..., or give relevant=...",
        ),
        ("user,rank\nu,1\n", ["evaluate", "bad.txt", "--metrics", "auc"], "must be the name of a"),
        ("who,rank\nu,1\n", ["evaluate", "bad.csv", "--metrics", "auc"], "no column 'user'"),
        ("user,rank\nu,0\n", ["evaluate", "bad.csv", "--metrics", "auc"], "user 'u': the rank"),
        ("user,rank\nu,one\n", ["evaluate", "bad.csv", "--metrics", "auc"], "must be a number"),
        ("user,rank\n", ["evaluate", "bad.csv", "--metrics", "auc"], "table has no rows"),
        ("user,rank\nu,1\n", ["evaluate", "bad.csv", "--metrics", "auc"], "n_items is None"),
        (
            "user,rank\nu,1\n",
            ["compare", "bad.csv", "--metrics", "recall@1"],
            "there are 1 recommenders",
        ),
        (
            "user,rank\nu,9\n",
            ["bounds", "bad.csv", "--metrics", "recall@1", "--samples", "5", "--catalog", "50"],
            "n_samples + ",
        ),
        (
            "user,rank,g\nu,1,x\nu,2,y\n",
            ["evaluate", "bad.csv", "--metrics", "recall@1"],
            "recommender=None",
        ),
        (
            "user,rank,g\nu,1,x\nu,2,y\n",
            ["evaluate", "bad.csv", "--metrics", "recall@1", "--group", "g"],
            "user u has the group x and y",
        ),
        (
            "user,rank,group\nu,1,x\nu,2,y\n",
            ["evaluate", "bad.csv", "--metrics", "recall@1", "--group", "group"],
            "user u has the group x and y",
        ),
        (
            "user,rank\nu,1\n",
            ["evaluate", "bad.csv", "--metrics", "recall@1", "--without-replacement"],
            "--without-replacement is given without --samples",
        ),
        (
            "user,rank,n_items\nu,1,10\nu,2,10\n",
            ["bounds", "bad.csv", "--metrics", "recall@1", "--samples", "8", "--catalog", "50"],
            "users with several relevant items; bounds are for one each",
        ),
        (
            "user,rank\nu,1\n",
            ["bounds", "bad.csv", "--metrics", "recall@1"],
            "does not say of what its ranks are a sample: --catalog",
        ),
        (
            None,
            ["explain", "auc", "0.9", "--other", "0.85", "--items", "9", "--samples", "5"],
            "different decimals",
        ),
        (None, ["explain", "recall@10", "1.5", "--items", "99", "--samples", "9"], "value is 1.5"),
    ],
)
def test_what_is_wrong_with_the_data_is_said_and_the_code_is_1(
    folder, capsys, text, arguments, says
):
    if text is not None:
        (folder / arguments[1]).write_text(text, encoding="utf-8")
    assert main(arguments) == 1
    out, errors = capsys.readouterr()
    assert out == ""
    assert errors.startswith("sampled-metrics: error: ")
    assert says in errors
    assert len(errors.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "the following arguments are required: command"),
        (["measure"], "invalid choice: 'measure'"),
        (["evaluate", "ranks.csv"], "--metrics"),
        (["evaluate", "ranks.csv", "--metrics", "recall"], "recall needs a cutoff"),
        (["evaluate", "ranks.csv", "--metrics", "auc@5"], "auc needs no cutoff"),
        (["evaluate", "ranks.csv", "--metrics", "recall@0"], "k is 0; k must be at least 1"),
        (["compare", "ranks.csv", "--metrics", "auc", "--group", "g"], "unrecognized arguments"),
        (["explain", "auc", "9e-1", "--items", "9", "--samples", "5"], "not a number as printed"),
        (["explain", "auc", "0.9"], "--samples, --items"),
        (["explain", "auc", "0.9", "rr", "--items", "9", "--samples", "5"], "rr has no value"),
        (
            ["explain", "auc", "0.9", "0.8", "--items", "9", "--samples", "5"],
            "'0.8' is not a metric",
        ),
        (
            ["explain", "auc", "high", "--items", "9", "--samples", "5"],
            "'high' is not a number as printed",
        ),
    ],
)
def test_a_wrong_command_line_has_the_code_2(folder, capsys, arguments, says):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert says in capsys.readouterr().err


def test_the_process_has_the_same_codes(folder):
    assert run("evaluate", "ranks.csv", "--metrics", "recall@1", "--group", "none")[0] == 1
    assert run("evaluate")[0] == 2


@pytest.mark.parametrize("file", ["nowhere.csv", "nowhere.parquet", "nowhere-*.csv", "no/such.tsv"])
def test_a_file_that_is_not_there(folder, capsys, file):
    assert main(["evaluate", file, "--metrics", "recall@1"]) == 2
    assert main(["rank", "ranks.csv", "--relevant", file, "--output", "out.csv"]) in (1, 2)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == f"sampled-metrics: error: there is no file {file}"
    assert main(["rank", file, "--form", "run", "--relevant", file, "--output", "out.csv"]) == 2


def test_help_has_examples_that_run(folder, capsys):
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    scores = pd.DataFrame({"user": 1, "item": [1, 2, 3], "score": [0.1, 0.2, 0.3]})
    scores.to_parquet("scores.parquet")
    scores[:1].to_parquet("test.parquet")
    write_ranks(RANKS, "ranks.parquet")
    write_ranks({"A": [1, 2, 50], "B": [1, 1, 30]}, "sampled.csv")
    examples = [line.split() for line in text.splitlines() if "  sampled-metrics " in line]
    (folder / "bm25.run").write_text("1 Q0 x 1 2.0 a\n")
    (folder / "qrels.txt").write_text("1 0 x 1\n")
    commands = list(dict.fromkeys(words[1] for words in examples))
    assert commands == ["rank", "evaluate", "compare", "bounds", "explain"]
    for _, *words in examples:
        words = [{"ranks.parquet": "all.parquet"}.get(w, w) for w in words]
        write_ranks(RANKS, "all.parquet")
        assert main(words) == 0


def test_lists_with_missing_items(folder, capsys):
    write_ranks({"A": Ranks.from_lists([[1], [3]])}, "lists.csv")
    (folder / "lists.csv").write_text("user,rank\n0,1\n0,\n1,3\n", encoding="utf-8")
    found = table_of(capsys, "evaluate", "lists.csv", "--metrics", "recall@2")
    assert found["value"][0] == 0.25
