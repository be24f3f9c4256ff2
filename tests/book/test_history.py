"""The events of the history: each has a source, a citation and its year."""

import re
from pathlib import Path

import pandas as pd

from shared import known

BOOK = Path(__file__).parents[2] / "book"
EVENTS = pd.read_csv(BOOK / "data/history.csv")
ENTRY = re.compile(r"^@\w+\{([^,]+),(.*?)^\}", re.M | re.S)
BIB = dict(ENTRY.findall((BOOK / "references.bib").read_text("utf-8")))


def test_each_event_is_whole():
    assert EVENTS.notna().all().all()
    assert EVENTS["year"].is_monotonic_increasing
    assert set(EVENTS["kind"]) == {"habit", "doubt", "repair", "design"}
    assert EVENTS["source"].str.fullmatch(r"https?://[\w.-]+\.\w+/\S+").all()


def test_each_event_is_cited_on_the_page_and_of_its_year():
    page = (BOOK / "audit.md").read_text("utf-8")
    cited = set(",".join(re.findall(r"\{cite:[pt]\}`([^`]+)`", page)).split(","))
    cited = {key.partition("{")[0] for key in cited}
    for event in EVENTS.itertuples():
        assert event.paper in cited
        year = int(known(re.search(r"year\s*=\s*\{(\d+)[a-z]?\}", BIB[event.paper]))[1])
        late = 1 if event.paper == "dror2012" else 0  # the proceedings of the contest
        assert year - late == event.year, event.paper
