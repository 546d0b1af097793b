"""The README's tour: an animation without scripts, small, of two minutes, that shows no path of a machine."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from tests.test_manual import TOP, script

pyte = pytest.importorskip("pyte")
recording = script(TOP / "packaging/recording.py")
TOUR = TOP / "assets/screenshots/tour.svg"


def frame(text: str) -> tuple:
    """What a terminal shows of a text."""
    screen = pyte.Screen(recording.COLUMNS, recording.ROWS)
    pyte.Stream(screen).feed(text)
    return recording.rows(screen)


def test_a_screen_becomes_runs_of_one_style():
    first, *others = frame("a \x1b[1;38;2;255;0;0mb\x1b[0m")
    assert [run[:2] for run in first][:2] == [("a ", recording.FOREGROUND), ("b", "#ff0000")]
    assert first[1][3:] == (True, False, False)
    assert set(others) == {
        ((" " * recording.COLUMNS, recording.FOREGROUND, recording.BACKGROUND, False, False, False),)
    }


def test_the_same_frame_is_shown_longer_and_one_that_is_too_short_is_replaced():
    film = recording.Film()
    for text, seconds in (("a", 1.0), ("a", 2.0), ("b", 0.01), ("c", 1.0)):
        film.add(frame(text), seconds)
    assert film.frames == [frame("a"), frame("c")]
    assert film.seconds == pytest.approx([3.0, 1.01])


def test_a_film_draws_each_row_once_and_moves_by_whole_screens():
    film = recording.Film([frame("same\r\none <&>"), frame("same\r\nother")], [1.0, 3.0])
    text = recording.animated_svg(film)
    ElementTree.fromstring(text)
    assert text.count(">same<") == 1
    assert text.count('<use href="#r0"') == 2
    height = recording.ROWS * recording.CELL_HEIGHT
    assert f"0.000%{{transform:translateY(-0px)}}25.000%{{transform:translateY(-{height}px)}}" in text
    assert "4.00s step-end infinite" in text


def test_the_tour_is_at_the_top_of_the_readme():
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", (TOP / "README.md").read_text(encoding="utf-8"))
    assert pictures[0] == TOUR.relative_to(TOP).as_posix()


def test_the_tour_is_small_has_no_script_and_no_path_of_a_machine():
    text = TOUR.read_text(encoding="utf-8")
    assert len(text.encode()) < 1_000_000
    assert {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(text).iter()} == {
        "svg", "title", "style", "defs", "g", "rect", "text", "use",
    }  # fmt: skip
    assert re.findall(r"/(?:tmp|root|home|Users)\b", text) == []
    assert 90 <= float(re.search(r"film ([\d.]+)s", text)[1]) <= 150
