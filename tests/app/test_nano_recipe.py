"""The parts of Laguna Nano's recipe that can be wrong without anybody noticing: what it calls a copy, and its order."""

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

RECIPE = Path(__file__).parents[2] / "assets/nano/recipe"

FUNCTION = '''
def merge_settings(base, extra, *, strict=False):
    """Merge two dictionaries of settings, the second one on top."""
    merged = dict(base)
    for key, value in extra.items():
        if strict and key not in merged:
            raise KeyError(f"unknown setting {key}")
        if isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = merge_settings(merged[key], value, strict=strict)
        else:
            merged[key] = value
    return merged
'''
OTHER = '''
class Table:
    """Rows of text that are aligned in columns."""

    def __init__(self, rows):
        self.rows = [list(map(str, row)) for row in rows]
        self.widths = [max(len(cell) for cell in column) for column in zip(*self.rows)]

    def lines(self):
        for row in self.rows:
            yield "  ".join(cell.ljust(width) for cell, width in zip(row, self.widths)).rstrip()
'''


def run(script: str, *arguments: object) -> str:
    command = [sys.executable, str(RECIPE / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(work: Path, place: str, text: str) -> None:
    """A file of a package; click is trained on, arrow is held out."""
    path = work / "repos" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_a_training_file_with_a_reworded_copy_of_held_out_code_is_found_and_removed(tmp_path: Path):
    write(tmp_path, "arrow/arrow/settings.py", FUNCTION)
    write(tmp_path, "click/click/copied.py", OTHER + FUNCTION.replace("unknown setting", "no such setting"))
    write(tmp_path, "click/click/own.py", OTHER)
    run("duplicates.py", tmp_path, "--remove")
    (pair,) = json.loads((tmp_path / "duplicates.json").read_text())
    assert pair["trained"] == "click/click/copied.py:13 merge_settings"
    assert pair["held_out"].startswith("arrow/arrow/settings.py")
    assert 0.7 <= pair["shared"] < 1
    assert [path.name for path in (tmp_path / "repos/click/click").iterdir()] == ["own.py"]


def test_code_that_two_training_packages_share_stays(tmp_path: Path):
    write(tmp_path, "arrow/arrow/table.py", OTHER)
    write(tmp_path, "click/click/settings.py", FUNCTION)
    write(tmp_path, "flask/flask/settings.py", FUNCTION)
    assert "0 near duplicates" in run("duplicates.py", tmp_path, "--remove")
    assert len(list((tmp_path / "repos").rglob("settings.py"))) == 2


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its modules, behind all others of the same name."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(RECIPE)])


def bytes_of(ids: list[int]) -> bytes:
    """Each token a word."""
    return b"".join(b"w%d " % token for token in ids)


@pytest.mark.parametrize("start", [0, 1, 24, 25, 37, 70])
def test_fifty_tokens_in_a_row_are_found_wherever_they_begin(recipe: None, start: int):
    from overlap import runs_in

    said = list(range(120))
    corpus = b"before " + bytes_of(said[start : start + 50]) + b"after"
    assert list(runs_in(said, corpus, bytes_of)) == [bytes_of(said[start : start + 50])]


def test_forty_nine_tokens_in_a_row_are_none(recipe: None):
    from overlap import runs_in

    said = list(range(120))
    assert not list(runs_in(said, bytes_of(said[20:69]), bytes_of))


def test_every_run_of_a_longer_copy_counts(recipe: None):
    from overlap import runs_in

    said = list(range(130))
    assert len(list(runs_in(said, bytes_of(said[10:90]), bytes_of))) == 31


def test_every_step_is_a_script_that_is_there_and_takes_its_arguments(recipe: None, tmp_path: Path):
    from argparse import Namespace

    from steps import steps

    files = {name: tmp_path / name for name in ("work", "nano", "dflash", "scorer", "llama_cpp")}
    options = Namespace(**files, device="cuda", check=False, wheels=tmp_path)
    for step in steps(options):
        if step.script.endswith(".py"):
            flags = {word for word in step.arguments if str(word).startswith("--")}
            assert flags <= set(re.findall(r'"(--[a-z0-9-]+)"', (RECIPE / step.script).read_text()))


def test_nothing_is_used_before_the_step_that_makes_it(recipe: None, tmp_path: Path):
    from argparse import Namespace

    from steps import steps

    made = {"nano.pt": "train", "laguna-nano.gguf": "convert", "nano-f32.gguf": "convert-f32",
            "drafter.pt": "drafter-train", "laguna-nano-dflash.gguf": "drafter-convert", "scorer.pt": "scorer-train",
            "laguna-nano-scorer.gguf": "scorer-convert", "scorer-f32.gguf": "scorer-f32"}  # fmt: skip
    models = {part: tmp_path / f"laguna-nano{end}.gguf" for part, end in
              (("nano", ""), ("dflash", "-dflash"), ("scorer", "-scorer"))}  # fmt: skip
    options = Namespace(work=tmp_path, llama_cpp=tmp_path, device="cpu", check=True, wheels=None, **models)
    names = [step.name for step in steps(options)]
    for index, step in enumerate(steps(options)):
        for used in {Path(str(word)).name for word in step.arguments} & made.keys():
            assert names.index(made[used]) <= index, f"{step.name} needs {used}"


def test_a_training_log_becomes_a_picture_with_every_point(recipe: None, tmp_path: Path):
    from log import Log

    log = Log(tmp_path / "nano.csv", ("tokens", "loss"))
    for numbers in ({"tokens": 0, "loss": 6.5}, {"tokens": 1000, "loss": 2.5}, {"tokens": 2000}):
        log.add(**numbers)
    log.add(tokens=3000, loss=0.5)
    run("curves.py", tmp_path / "nano.svg", tmp_path / "nano.csv")
    picture = ElementTree.parse(tmp_path / "nano.svg")
    (line,) = picture.iter("{http://www.w3.org/2000/svg}polyline")
    places = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
    assert len(places) == 3
    assert places == sorted(places)  # to the right, and downwards
    assert places[1][0] - places[0][0] == pytest.approx((places[2][0] - places[0][0]) / 3, abs=0.1)


def test_a_column_that_a_log_lacks_is_named(tmp_path: Path):
    log = tmp_path / "nano.csv"
    log.write_text("tokens,loss\n1,2\n")
    command = [sys.executable, str(RECIPE / "curves.py"), str(tmp_path / "a.svg"), str(log), "--y", "accuracy"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no column 'tokens' or 'accuracy'; there are tokens, loss" in done.stderr


CALL = "\n<tool_call>search\n<arg_key>pattern</arg_key>\n<arg_value>{}</arg_value>\n</tool_call>\n"
FOUND = "parse_price shop/prices.py:31: def parse_price(text):"
RIGHT = "\nDefined here: `parse_price shop/prices.py:31`.\n"


class Scripted:
    """Whoever is asked, with replies written by hand."""

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)

    def ask(self, question: str) -> str:
        return self.replies.pop(0)

    def give(self, result: str) -> str:
        return self.replies.pop(0)


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        ((CALL.format("parse_price"), RIGHT), (True, True)),
        ((CALL.format("parse_price"), RIGHT.replace("31", "13")), (True, False)),
        ((CALL.format("parse_prices"), RIGHT), (False, False)),
        ((RIGHT,), (False, False)),
    ],
    ids=["right", "another line", "another name", "without looking"],
)
def test_an_answer_is_right_word_for_word_and_after_the_right_call(recipe: None, replies, expected):
    import random

    from cases import lookup, run
    from questions import Skill

    case = lookup(random.Random(0), "where", Skill.WHERE, "shop", "parse_price")
    tools = {"search": lambda pattern: FOUND}
    assert run(Scripted(*replies), case, tools)[:2] == expected
