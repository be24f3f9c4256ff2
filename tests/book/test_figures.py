"""The look of the book: what its figures and tables show, and what it leaves alone."""

import base64
import re
from xml.etree import ElementTree

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell
from matplotlib.colors import to_hex, to_rgb
from matplotlib.text import Annotation
from traitlets.config import Config

from sampled_metrics_book import (
    COLORS,
    METRIC_COLORS,
    histogram,
    intervals,
    label_lines,
    slope_chart,
    table,
    use_style,
)
from sampled_metrics_book.display import both_widths
from shared import known


@pytest.fixture(autouse=True)
def _style():
    with mpl.rc_context():
        use_style()
        yield
    plt.close("all")


def narrow(svg):
    return base64.b64decode(known(re.search('id="narrow">([^<]*)', svg))[1]).decode()


def width(svg):
    return float(ElementTree.fromstring(svg).attrib["width"].removesuffix("pt"))


def cells(shown):
    """The texts of a table's rows, header included."""
    rows = re.findall(r"<tr>(.*?)</tr>", shown.data, re.S)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in rows]


def test_a_histogram_counts_and_marks_what_values_are_compared_with():
    _, ax = plt.subplots()
    histogram(ax, [1, 1, 3, 9], [0, 2, 4], line=1.5, color="red", alpha=0.5)
    (bars,) = ax.patches
    assert bars.get_data().values.tolist() == [2, 1]  # type: ignore[attr-defined]
    assert to_hex(bars.get_facecolor()) == to_hex("red")
    assert [line.get_xdata() for line in ax.lines] == [[1.5, 1.5]]
    _, ax = plt.subplots()
    histogram(ax, [1, 1, 3], [0, 2, 4], density=True)
    assert ax.patches[0].get_data().values.tolist() == [1 / 3, 1 / 6]  # type: ignore[attr-defined]
    assert not ax.lines


def test_the_look_of_every_figure():
    figure, ax = plt.subplots()
    (line,) = ax.plot([0, 1], label="a line")
    title = ax.set_title("What it shows", loc="left")
    assert figure.get_size_inches().tolist() == [7.2, 3.6]
    assert (line.get_linewidth(), line.get_solid_capstyle()) == (2, "round")
    assert ax.get_axisbelow() is True
    assert ax.get_xgridlines()[0].get_visible()
    assert ax.get_xgridlines()[0].get_alpha() == 0.25
    drawn = {side for side, spine in ax.spines.items() if spine.get_visible()}
    assert drawn == {"left", "bottom"}
    assert not ax.legend().get_frame_on()
    assert ax.get_xticklabels()[0].get_fontsize() == title.get_fontsize() == 11.5
    assert title.get_fontweight() == "semibold"
    assert ax.get_title(loc=mpl.rcParams["axes.titlelocation"]) == "What it shows"
    assert figure.get_layout_engine() is not None


@pytest.fixture
def notebook():
    """The formatters of a notebook that uses the book's style."""
    shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
    with np.printoptions():
        use_style()
        yield known(shell.display_formatter).formatters
    InteractiveShell.clear_instance()


def test_in_a_notebook_a_long_table_shows_its_first_and_last_rows(notebook):
    def n_rows(length):
        return notebook["text/html"](pd.DataFrame({"a": range(length)})).count("<tr")

    assert [n_rows(length) for length in (59, 60, 61)] == [60, 61, 12]  # with a head, and dots
    with pd.option_context("display.max_rows", None):
        assert n_rows(61) == 62


def test_in_a_notebook_numbers_have_six_digits(notebook):
    shown = [notebook["text/plain"](x) for x in (0.123456789, np.float64(1234567.8))]
    assert shown == ["0.123457", "1234568.0"]


def test_outside_a_notebook_numpy_and_pandas_are_left_alone():
    assert repr(np.float64(1)) == "np.float64(1.0)"
    assert 'border="1"' in pd.DataFrame({"a": [1]})._repr_html_()  # type: ignore[operator]


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (3, 1), (2, 2), (2, 4)])
def test_a_figure_has_a_second_drawing_for_phones_and_is_as_it_was(shape):
    figure, axes = plt.subplots(*shape, sharey=True, squeeze=False)
    for i, ax in enumerate(axes.flat):
        ax.plot([0, 1], [0, i])
    figure.draw_without_rendering()
    places = [ax.get_position().bounds for ax in axes.flat]
    size = figure.get_size_inches().tolist()
    wide = both_widths(figure)
    assert width(wide) > 480
    assert width(narrow(wide)) <= 280  # points: 375 pixels
    assert figure.get_size_inches().tolist() == size
    figure.draw_without_rendering()
    np.testing.assert_allclose([ax.get_position().bounds for ax in axes.flat], places, atol=0.01)


@pytest.mark.parametrize(("height", "on_a_phone"), [(4.8, 0.85 * 4.8), (3.0, 2.6), (2.0, 2.0)])
def test_on_a_phone_one_panel_is_nearly_as_high_as_it_was(height, on_a_phone):
    figure, _ = plt.subplots(figsize=(7.2, height))
    shown = ElementTree.fromstring(narrow(both_widths(figure))).attrib["height"]
    assert float(shown.removesuffix("pt")) / 72 == pytest.approx(on_a_phone, abs=0.01)


def test_on_a_phone_panels_follow_one_another_as_they_are_read():
    figure, axes = plt.subplots(2, 2)
    for ax, name in zip(axes.flat, "ABCD", strict=True):
        ax.set_title(name)
    drawing = narrow(both_widths(figure))
    corners = re.findall(r'id="axes_\d".*?d="M ([\d.]+) ([\d.]+)', drawing, re.S)
    x, y = np.array(corners, dtype=float).T
    assert np.ptp(x) < 20
    assert (np.diff(y) > 50).all()


def test_on_a_phone_panels_that_stood_above_one_another_stand_side_by_side():
    figure, _ = plt.subplots(2, 3, sharex=True, sharey=True)
    drawing = narrow(both_widths(figure))
    corners = re.findall(r'id="axes_\d".*?d="M ([\d.]+) ([\d.]+)', drawing, re.S)
    x, y = np.array(corners, dtype=float).T.reshape(2, 2, 3)
    assert (x[0] < x[1]).all()
    np.testing.assert_allclose(y[0], y[1])
    assert y[0].tolist() == sorted(y[0])
    assert width(drawing) > 260  # points: they fill the width


def test_on_a_phone_each_panel_says_what_its_axes_are():
    figure, axes = plt.subplots(2, 2, sharex=True, sharey=True)
    for ax, label in zip(axes[:, 0], ("upper", "lower"), strict=True):
        ax.set(ylabel=label, xticks=[0.5], xticklabels=["half"])
    wide = both_widths(figure)
    shown = narrow(wide)
    assert [wide.count(f"<!-- {word} -->") for word in ("upper", "lower", "half")] == [1, 1, 2]
    assert [shown.count(f"<!-- {word} -->") for word in ("upper", "lower", "half")] == [2, 2, 4]
    assert [ax.get_ylabel() for ax in axes.flat] == ["upper", "", "lower", ""]


def test_the_same_figure_gives_the_same_file():
    axes = (slope_chart({"a": {"X": 1}, "b": {"X": 2}}) for _ in "12")
    first, second = (both_widths(known(ax.get_figure(root=True))) for ax in axes)
    assert first == second


def test_lines_cross_in_a_slope_chart_where_the_order_changes():
    ax = slope_chart(
        {"exact": {"X": 1.0, "Y": 2.0, "other": 0.0}, "sampled": {"X": 9, "Y": 8, "other": 7}}
    )
    heights = {line.get_color(): np.asarray(line.get_ydata()).tolist() for line in ax.lines}
    assert heights[COLORS["X"]] == [2, 3]
    assert heights[COLORS["Y"]] == [3, 2]
    texts = {text.get_text() for text in ax.texts}
    assert texts == {"X  1.0", "Y  2.0", "other  0.0", "9.0  X", "8.0  Y", "7.0  other"}


def test_the_look_of_a_slope_chart():
    columns = {"a": {"X": 1, "mine": 2, "Y": 3}, "b": {"X": 2, "mine": 3, "Y": 1}}
    ax = slope_chart(columns | {"c": columns["a"]})
    x, mine, y = ax.lines
    assert x.get_zorder() == y.get_zorder() > mine.get_zorder()  # those that have a color
    assert ax.get_ylim() == (0.5, 3.5)
    for text in ax.texts:  # beside its dot, not at another one's
        dots = np.concatenate([np.asarray(line.get_xydata()) for line in ax.lines])
        assert np.abs(dots - text.get_position()).sum(axis=1).min() < 0.25
    assert {tick.tick1line.get_markersize() for tick in ax.xaxis.get_major_ticks()} == {0}
    heights = []
    for n in (2, 12):
        ax = slope_chart({"a": dict.fromkeys("ABCDEFGHIJKL"[:n], 1)})
        heights.append(known(ax.get_figure(root=True)).get_figheight())
    assert 0.3 < np.diff(heights)[0] / 10 < 0.6  # inches for each of them


def test_equal_values_share_their_place():
    valley, hill = ({"X": x, "Y": 2} for x in (1, 3))
    ax = slope_chart({"a": hill, "b": valley, "c": hill})
    below, above = (t for t in ax.texts if t.get_horizontalalignment() == "center")
    assert (below.get_text(), below.get_verticalalignment()) == ("1.0", "top")
    assert (above.get_text(), above.get_verticalalignment()) == ("2.0", "bottom")
    ax = slope_chart({"a": hill, "b": valley, "c": valley, "d": hill})  # no line below a valley
    sides = [t.get_verticalalignment() for t in ax.texts if t.get_horizontalalignment() == "center"]
    assert sides == ["top", "bottom"] * 2
    ax = slope_chart({"a": {"X": 1, "Y": 1}, "b": {"X": 1, "Y": 2}}, names_right=False)
    assert [np.asarray(line.get_ydata()).tolist() for line in ax.lines] == [[1.5, 1], [1.5, 2]]


def test_intervals_go_from_low_to_high():
    rows = pd.DataFrame({"value": [2, np.nan], "low": [1, 0], "high": [4, 9]}, index=["X", "all"])
    ax = intervals(rows.assign(exact=[3, 5]))
    drawn = [np.asarray(line.get_xdata()) for line in ax.lines]
    whiskers = [x.tolist() for x in drawn if len(x) == 2]
    assert whiskers == [[1, 4], [0, 9]]
    marks = [x.item() for x in drawn if len(x) == 1]
    assert marks == [2, 3, 5]  # a value that is missing has no dot
    of_order = {
        marker: {x.get_zorder() for x in ax.lines if x.get_marker() == marker}
        for marker in ("o", "D")
    }
    assert max(of_order["D"]) < min(of_order["o"])
    assert {x.get_linewidth() for x in ax.lines if x.get_marker() == "None"} == {2}


@pytest.mark.parametrize("ends", [[0.5], [0, 0, 0], [1, 1, 0.99], [0.2, 0.21, 0.9], []])
def test_labels_stand_apart_in_the_order_of_their_lines(ends):
    _, ax = plt.subplots()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    for i, end in enumerate(ends):
        ax.plot([0, 1], [0, end], label=f"line {i}")
    label_lines(ax)
    heights = [text.xy[1] for text in ax.texts if isinstance(text, Annotation)]
    assert [text.get_text() for text in ax.texts] == [
        f"line {i}" for i in sorted(range(len(ends)), key=lambda i: ends[i])
    ]
    letter = plt.rcParams["font.size"] / (ax.bbox.height / ax.figure.dpi * 72)
    assert all(np.diff(heights) > letter)
    assert all(-0.001 <= y <= 1.001 for y in heights)


def test_labels_stay_at_the_ends_of_lines_that_are_far_apart():
    _, ax = plt.subplots()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ends = [0.1, 0.5, 0.8]
    for end in ends:
        ax.plot([0, 1], [0, end], label=str(end))
    label_lines(ax)
    at = [text.xy for text in ax.texts if isinstance(text, Annotation)]
    np.testing.assert_allclose(at, [(1, end) for end in ends])


def contrast_with_white(color):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return 1.05 / (0.05 + np.dot(linear, [0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize("color", [*COLORS.values(), *METRIC_COLORS.values(), "0.6", "#56B4E9"])
def test_labels_can_be_read_whatever_the_color_of_the_line(color):
    _, ax = plt.subplots()
    ax.plot([1, 2], color=color, label="X")
    label_lines(ax)
    written = ax.texts[0].get_color()
    assert contrast_with_white(written) >= 4.5
    assert (to_hex(written) == to_hex(color)) == (contrast_with_white(color) >= 4.5)


def test_lines_over_named_places_are_labeled_too():
    _, ax = plt.subplots()
    ax.plot(["all", "some"], [1, 2], label="X")
    label_lines(ax)
    assert [text.get_text() for text in ax.texts] == ["X"]


def test_a_table_has_no_empty_row_and_equal_digits():
    frame = pd.DataFrame(
        {"users": [6040, 12], "share": [0.12345, 1.0], "kind": ["a<b", None]},
        index=pd.Index(["X", "Y"], name="recommender"),
    )
    assert cells(table(frame)) == [
        ["recommender", "users", "share", "kind"],
        ["X", "6,040", "0.12", "a&lt;b"],
        ["Y", "12", "1.00", "–"],
    ]
    assert cells(table(frame[["share"]], digits=3))[1:] == [["X", "0.123"], ["Y", "1.000"]]
    assert "<caption><span>What it &lt;is&gt;</span></caption>" in table(frame, "What it <is>").data
    assert "<caption>" not in table(frame).data
    assert table(frame).data.count(' text"') == 3  # the column of words and its head
    sentences = frame.assign(kind=["two words", "one"])
    assert table(sentences).data.count(' text words"') == 3  # which may be broken
    assert "number" not in table(frame).data
    assert table(frame.set_axis([1, 2])).data.count('"row_heading number ') == 2


def test_numbers_that_name_rows_or_columns_have_no_digits_to_spare():
    frame = pd.DataFrame([[1, 2], [3, 4]], [0.1, 0.025], pd.Index([1.5, 20], name="at"))
    assert cells(table(frame)) == [["at", "1.5", "20"], ["0.1", "1", "2"], ["0.025", "3", "4"]]
    items = pd.Index([1000, 20_000], name="items")
    assert cells(table(frame.set_axis(items))) == [
        ["items ↓ at →", "1.5", "20"],
        ["1,000", "1", "2"],
        ["20,000", "3", "4"],
    ]
    years = frame.set_axis(pd.Index([2020, 2021], name="year")).set_axis([1000, 10**6], axis=1)
    assert [row[0] for row in cells(table(years))] == ["year", "2020", "2021"]
    assert cells(table(years))[0][1:] == ["1,000", "1,000,000"]


def test_a_table_of_two_levels_names_its_rows_in_the_corner():
    columns = pd.MultiIndex.from_product([["exact", "sampled"], ["X", "Y"]], names=["", "by"])
    frame = pd.DataFrame(np.arange(4.0)[None] + 100, pd.Index([5], name="m"), columns)
    assert cells(table(frame)) == [
        ["", "exact", "sampled"],
        ["m", "X", "Y", "X", "Y"],
        ["5", "100", "101", "102", "103"],
    ]


def test_a_cell_may_hold_a_list_or_an_array():
    frame = pd.DataFrame({"ranks": [np.array([1, 2]), None]}, index=["A", "B"])
    assert cells(table(frame))[1:] == [["A", "[1 2]"], ["B", "–"]]


def test_pandas_own_format_of_floats_is_kept():
    with pd.option_context("display.float_format", "{:.1f}".format):
        assert cells(table(pd.Series([0.25], name="x"))) == [["", "x"], ["0", "0.2"]]
        assert cells(table(pd.Series([0.25]))) == [["0", "0.2"]]  # no name, no head


@pytest.mark.parametrize(
    ("limits", "labels"),
    [
        ((1, 20_000), ["1", "10", "100", "1,000", "10,000"]),
        ((0.01, 1), ["0.01", "0.1", "1"]),
        ((60, 500), ["60", "100", "200", "300", "400"]),
        ((1e-4, 3e6), ["0.0001", "0.01", "1", "100", "10,000", "1,000,000"]),
        ((0.9e-4, 10), [rf"$\mathdefault{{10^{{{i}}}}}$" for i in range(-4, 2)]),
        ((1, 1e8), [rf"$\mathdefault{{10^{{{i}}}}}$" for i in range(9)]),
    ],
)
def test_a_logarithmic_axis_writes_numbers_as_the_text_does(limits, labels):
    figure, ax = plt.subplots()
    ax.set(xscale="log", xlim=limits)
    both_widths(figure)
    figure.canvas.draw()  # the last drawing was the narrow one
    ticks = [*ax.xaxis.get_major_ticks(), *ax.xaxis.get_minor_ticks()]
    at = {t.get_loc(): t.label1.get_text() for t in ticks if limits[0] <= t.get_loc() <= limits[1]}
    assert [at[place] for place in sorted(at) if at[place]] == labels


@pytest.mark.parametrize(
    ("largest", "shown"),
    [
        (1000.0, "1,000"),
        (100.0, "100"),
        (99.0, "99.0"),
        (10.0, "10.0"),
        (9.0, "9.00"),
        (1.0, "1.00"),
        (0.9, "0.900"),
        (0.001, "0.001"),
        (0.0009, "0.0009"),
        (0.0, "0.00"),
        (np.inf, "inf"),
        (np.nan, "–"),
    ],
)
def test_the_largest_number_has_three_digits_unless_it_is_very_small(largest, shown):
    assert cells(table(pd.DataFrame({"a": [largest]})))[1][-1] == shown


def test_digits_that_are_asked_for_come_before_all_others():
    numbers = pd.DataFrame({"a": [250.0, np.nan], "n": [1000, 2]})
    assert [row[1:] for row in cells(table(numbers, digits=1))[1:]] == [
        ["250.0", "1,000"],
        ["–", "2"],
    ]
    with pd.option_context("display.float_format", "{:.3f}".format):
        assert cells(table(numbers))[1][1] == "250.000"
        assert cells(table(numbers, digits=1))[1][1] == "250.0"
