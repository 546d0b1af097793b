"""The parts of Laguna Nano's recipe that can be wrong without anybody noticing: what it calls a copy, and its order."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from laguna_tui.agent.tools.nano.profile import NANO
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.base.permission_request import Mode
from laguna_tui.repo.files.workspace import Workspace
from tests.app.approvers import gate_for, run_tool

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

    made = {"nano.pt": "train", "laguna-nano.gguf": "pad", "nano-f32.gguf": "convert-f32",
            "nano-f16.gguf": "convert", "drafter-f16.gguf": "drafter-convert",
            "drafter.pt": "drafter-train", "laguna-nano-dflash.gguf": "drafter-pad", "scorer.pt": "scorer-train",
            "laguna-nano-scorer.gguf": "scorer-convert", "scorer-f32.gguf": "scorer-f32"}  # fmt: skip
    models = {part: tmp_path / f"laguna-nano{end}.gguf" for part, end in
              (("nano", ""), ("dflash", "-dflash"), ("scorer", "-scorer"))}  # fmt: skip
    options = Namespace(work=tmp_path, llama_cpp=tmp_path, device="cpu", check=True, wheels=None, **models)
    names = [step.name for step in steps(options)]
    for index, step in enumerate(steps(options)):
        for used in {Path(str(word)).name for word in step.arguments} & made.keys():
            assert names.index(made[used]) <= index, f"{step.name} needs {used}"


@pytest.mark.parametrize("options", [(), ("--log",)])
def test_a_training_log_becomes_a_picture_with_every_point(recipe: None, tmp_path: Path, options: tuple[str, ...]):
    from log import Log

    log = Log(tmp_path / "nano.csv", ("tokens", "loss"))
    for numbers in ({"tokens": 0, "loss": 6.5}, {"tokens": 1000, "loss": 2.5}, {"tokens": 2000}):
        log.add(**numbers)
    log.add(tokens=3000, loss=0.5)
    run("curves.py", tmp_path / "nano.svg", tmp_path / "nano.csv", *options)
    picture = ElementTree.parse(tmp_path / "nano.svg")
    (line,) = picture.iter("{http://www.w3.org/2000/svg}polyline")
    places = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
    assert len(places) == 3
    assert places == sorted(places)  # to the right, and downwards
    first, second, third = (place[1] for place in places)
    assert (second - first > third - second) is (not options)  # 6.5, 2.5, 0.5: the last step is the larger one in logs
    assert places[1][0] - places[0][0] == pytest.approx((places[2][0] - places[0][0]) / 3, abs=0.1)


def test_a_column_that_a_log_lacks_is_named(tmp_path: Path):
    log = tmp_path / "nano.csv"
    log.write_text("tokens,loss\n1,2\n")
    command = [sys.executable, str(RECIPE / "curves.py"), str(tmp_path / "a.svg"), str(log), "--y", "accuracy"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no column 'tokens' or 'accuracy'; there are tokens, loss" in done.stderr


CALL = (
    "\n<tool_call>search\n<arg_key>list</arg_key>\n<arg_value>{}</arg_value>\n"
    "<arg_key>pattern</arg_key>\n<arg_value>{}</arg_value>\n</tool_call>\n"
)
EDIT = (
    "\n<tool_call>edit\n<arg_key>path</arg_key>\n<arg_value>shop/prices.py</arg_value>\n"
    "<arg_key>old</arg_key>\n<arg_value>def parse_price(text):</arg_value>\n"
    '<arg_key>new</arg_key>\n<arg_value>def parse_price(text):\n    """TODO: describe parse_price."""</arg_value>\n'
    "</tool_call>\n"
)
SEARCHED = CALL.format("defined", "parse_price")
RIGHT = "\nDefined here:\n1. `parse_price shop/prices.py:3` `def parse_price(text):`\n"
ADDED = "\nChanged `shop/prices.py` in 1 place.\n"


@pytest.fixture
def tools(tmp_path: Path) -> Toolbox:
    """The app's own over a shop, where every edit is made."""
    files = {
        "shop/prices.py": "import re\n\ndef parse_price(text):\n    return float(text)\n",
        "shop/cart.py": "def total(rows):\n    return sum(map(parse_price, rows))\n",
        "tests/test_prices.py": "def test_a_price():\n    assert parse_price('1') == 1\n",
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    return Toolbox(NANO, Workspace(tmp_path), permissions=gate_for(tmp_path, mode=Mode.ACCEPT_EDITS))


class Printed:
    """The tools as the recipe has them: what they print."""

    def __init__(self, toolbox: Toolbox) -> None:
        self.toolbox = toolbox

    def run(self, tool: str, arguments: Mapping[str, str]) -> str:
        return run_tool(self.toolbox, tool, arguments).output

    def restore(self) -> None:
        raise AssertionError("one question leaves that to its chat")


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
        ((SEARCHED, RIGHT), (True, True)),
        ((SEARCHED, RIGHT.replace("3`", "5`")), (True, False)),
        ((CALL.format("defined", "parse_prices"), RIGHT), (False, False)),
        ((CALL.format("used", "parse_price"), RIGHT), (False, False)),
        ((RIGHT,), (False, False)),
    ],
    ids=["right", "another line", "another name", "another list", "without looking"],
)
def test_an_answer_is_right_word_for_word_and_after_the_right_call(recipe: None, tools, replies, expected):
    from cases import Case, looked_up, run
    from questions import Skill

    case = Case("where", "shop", "Where is parse_price?", looked_up(Skill.WHERE, "parse_price"))
    outcome = run(Scripted(*replies), case, Printed(tools))
    assert (outcome.called, outcome.right) == expected


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        ((SEARCHED, EDIT, ADDED), (True, True)),
        ((SEARCHED, EDIT, ADDED.replace("1 place", "2 places")), (True, False)),
        ((SEARCHED, EDIT.replace("TODO: describe parse_price.", ""), ADDED), (True, False)),
        ((SEARCHED, ADDED), (True, False)),
        ((EDIT, ADDED), (False, False)),
    ],
    ids=["right", "another answer", "another text", "without the edit", "without looking"],
)
def test_a_docstring_is_right_after_both_calls(recipe: None, tools, replies, expected):
    from cases import Case, looked_up, run
    from questions import Skill

    case = Case("docstring", "shop", "Add a docstring to parse_price", looked_up(Skill.DOCSTRING, "parse_price"))
    outcome = run(Scripted(*replies), case, Printed(tools))
    assert (outcome.called, outcome.right, outcome.made) == (*expected, expected[1])


@pytest.mark.parametrize(
    ("skill", "call", "answer"),
    [
        ("WHERE", {"list": "defined", "pattern": "parse_price"}, RIGHT),
        ("TAKES", {"list": "defined", "pattern": "parse_price"}, RIGHT),
        ("USES", {"list": "used", "pattern": "parse_price"}, "Used here:\n1. `total shop/cart.py:2`"),
        (
            "TESTS",
            {"list": "tested", "pattern": "parse_price"},
            "Tested here:\n1. `test_a_price tests/test_prices.py:2`",
        ),
        ("TESTS", {"list": "tested", "pattern": "total"}, "No uses in code or tests."),
        ("WHERE", {"list": "defined", "pattern": "float"}, "No definition of `float`; 1 line with it."),
        ("DOCSTRING", {"list": "defined", "pattern": "float"}, "No definition of `float`; 1 line with it."),
        ("USES", {"list": "used", "pattern": "zebra"}, "Nothing matches `zebra`."),
        ("OUTLINE", {"pattern": "prices.py"}, "`shop/prices.py` defines:\n1. `parse_price:3`"),
        ("OUTLINE", {"pattern": "shop/"}, "Several files match:\n1. `shop/cart.py`\n2. `shop/prices.py`"),
    ],
)
def test_the_right_answer_is_what_the_right_call_printed(recipe: None, tools, skill, call, answer):
    from cases import Call, looked_up
    from questions import Skill

    right = looked_up(Skill[skill], call["pattern"])
    tool = "find" if skill == "OUTLINE" else "search"
    assert right([]) == Call(tool, call)
    assert right([run_tool(tools, tool, call).output]) == answer.strip()


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        ("Changed `a.py` in 2 places.", "Changed `a.py` in 2 places."),
        (
            "error: the user declined this edit; ask what to do instead",
            "I changed nothing: the user declined this edit.",
        ),
        ("error: a.py could be a; b; call again", "I changed nothing: a.py could be a."),
        ("error: a.py is gone", "I changed nothing: a.py is gone."),
    ],
)
def test_of_an_edit_that_was_not_made_the_reason_is_told(recipe: None, result, answer):
    from answers import edited, text_of

    assert text_of(edited(result)) == answer


@pytest.mark.parametrize("given", ["", "Prices as numbers."])
def test_a_docstring_goes_under_the_line_as_it_was_shown(recipe: None, tools, given):
    from answers import documenting

    edit = documenting(
        "parse_price", run_tool(tools, "search", {"list": "defined", "pattern": "parse_price"}).output, given
    )
    line, added = edit.new.split("\n")
    assert (edit.path, line, edit.all) == ("shop/prices.py", edit.old, False)
    assert added == f'    """{given or "TODO: describe parse_price."}"""'
    assert documenting("zebra", run_tool(tools, "search", {"list": "defined", "pattern": "zebra"}).output) is None


SEAM = """
import sys, apptools
from pathlib import Path
from laguna_engine.chat.template import Renderer
apptools.Tools(Path(sys.argv[1])).run("search", {"list": "defined", "pattern": "total"})
for name, module in list(sys.modules.items()):
    if "site-packages" in (getattr(module, "__file__", None) or "") and "." not in name:
        print(name.replace("_", "-"))
"""
"""What of the app runs in the training environment; prints the packages that it imports from others."""


def test_the_training_environment_has_what_the_apps_tools_import(tmp_path: Path):
    (tmp_path / "prices.py").write_text("def total(prices):\n    return sum(prices)\n")
    imported = subprocess.run(
        [sys.executable, "-P", "-c", SEAM, tmp_path],
        env={"PYTHONPATH": str(RECIPE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert imported.returncode == 0, imported.stderr
    listed = {line.partition("==")[0] for line in (RECIPE / "requirements.txt").read_text().splitlines()}
    # Comes with others.
    needed = set(imported.stdout.split()) - {"-distutils-hack", "distutils-hack", "typing-extensions"}
    assert "tree-sitter" in needed
    assert needed <= listed


def test_a_widened_head_scores_as_the_narrow_one_does(recipe: None):
    from pad import narrow, widen

    random = np.random.default_rng(1)
    tensors = {
        "attn_q.weight": random.normal(size=(4 * 32, 24)),
        "attn_k.weight": random.normal(size=(2 * 32, 24)),
        "attn_output.weight": random.normal(size=(24, 4 * 32)),
        "attn_q_norm.weight": random.normal(size=32),
        "attn_k_norm.weight": random.normal(size=32),
        "ffn_gate_exps.weight": random.normal(size=(3, 48, 24)),
        "ffn_down_exps.weight": random.normal(size=(3, 24, 48)),
        "ffn_norm.weight": random.normal(size=24),
    }
    wide = {name: widen(name, array, 32) for name, array in tensors.items()}
    assert [array.shape for array in wide.values()] == [
        (256, 24), (128, 24), (24, 256), (64,), (64,), (3, 64, 24), (3, 24, 64), (24,)
    ]  # fmt: skip
    for name, array in tensors.items():
        np.testing.assert_allclose(narrow(name, wide[name], 32, 48), array)

    state = random.normal(size=24)

    def scores(given: Mapping[str, np.ndarray], head: int) -> np.ndarray:
        queries, keys = ((given[f"attn_{part}.weight"] @ state).reshape(-1, head) for part in ("q", "k"))
        queries, keys = (
            one / np.sqrt(np.square(one).mean(1, keepdims=True)) * given[f"attn_{part}_norm.weight"]
            for part, one in (("q", queries), ("k", keys))
        )
        return queries @ keys.T / np.sqrt(head)

    np.testing.assert_allclose(scores(wide, 64), scores(tensors, 32), rtol=1e-6)
