"""`find` for the bundled model: what a file defines, to the byte, since it repeats these lines."""

import os
import re
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from laguna_tui.agent.tools.base.tool import ArgumentError
from laguna_tui.agent.tools.nano.find import FIND, LINES
from laguna_tui.agent.tools.nano.profile import NANO
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.repo.files.workspace import Workspace
from tests.app.approvers import answer_of, run_tool

SHOP = {
    "shop/cart.py": (
        "from shop.prices import parse_price\n\nLIMIT = 3\n\n\n"
        "class Cart:\n    def add(self, text):\n        return parse_price(text)\n\n\n"
        "async def total(rows):\n    def price(row):\n        return row.price\n"
    ),
    "shop/prices.py": "def parse_price(text):\n    return float(text)\n",
    "tests/test_cart.py": "def test_a_cart():\n    pass\n",
    "README.md": "# Shop\n",
}
CART = "`shop/cart.py` defines:\n1. `Cart:6`\n2. `total:11`"
ITEM = re.compile(r"\d\. `[^`]*`|and \d+ more\.|Several files match:|`.*` defines( nothing at its top level\.|:)|… .*")


@pytest.fixture
def root(tmp_path):
    for path, text in SHOP.items():
        (tmp_path / "project" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "project" / path).write_text(text, encoding="utf-8")
    return tmp_path / "project"


def found(root, pattern, should_stop=lambda: False):
    return answer_of(FIND, Workspace(root), should_stop, pattern=pattern)


@pytest.mark.parametrize(
    "pattern", ["shop/cart.py", "./shop/cart.py", "cart.py", "shop/c", " shop/cart.py ", "shop/c*"]
)
def test_a_file_by_a_part_of_its_path_is_told_with_what_it_defines(root, pattern):
    assert found(root, pattern) == CART


def test_a_whole_name_means_that_file_and_not_one_that_ends_alike(root):
    assert found(root, "cart.py") == CART
    assert found(root, "t_cart.py").splitlines()[0] == "`tests/test_cart.py` defines:"


@pytest.mark.parametrize("pattern", ["shop/cart.py:6", "cart.py:6-11"])
def test_lines_of_a_file_are_a_mention_of_the_file(root, pattern):
    assert found(root, pattern) == CART


def test_a_file_whose_name_ends_like_line_numbers_is_meant_by_it(root):
    (root / "log:12").touch()
    assert found(root, "log:12") == "`log:12` defines nothing at its top level."


def test_several_files_are_listed(root):
    assert found(root, "cart") == "Several files match:\n1. `shop/cart.py`\n2. `tests/test_cart.py`"


def test_files_of_one_name_are_listed(root):
    (root / "old").mkdir()
    (root / "old/cart.py").touch()
    assert found(root, "cart.py").splitlines() == [
        "Several files match:", "1. `old/cart.py`", "2. `shop/cart.py`", "3. `tests/test_cart.py`",
    ]  # fmt: skip


def test_no_file_is_one_sentence(root):
    assert found(root, "zebra.py") == "No file matches `zebra.py`."


def test_capitals_matter_once_there_is_one(root):
    assert found(root, "readme") == found(root, "README")
    assert found(root, "Readme") == "No file matches `Readme`."


@pytest.mark.parametrize("text", ["", "LIMIT = 3\nprint(LIMIT)\n"], ids=["empty", "no definition"])
def test_a_file_without_definitions_is_said_to_have_none(root, text):
    (root / "bare.py").write_text(text)
    assert found(root, "bare.py") == "`bare.py` defines nothing at its top level."


def test_a_file_in_no_language_defines_nothing(root):
    assert found(root, "README.md") == "`README.md` defines nothing at its top level."


def test_of_many_definitions_six_are_told_and_the_others_counted(root):
    (root / "many.py").write_text("".join(f"def f{n}():\n    pass\n" for n in range(9)))
    lines = found(root, "many.py").splitlines()
    assert lines[1:] == [*(f"{n + 1}. `f{n}:{2 * n + 1}`" for n in range(6)), "and 3 more."]


def test_six_definitions_are_all(root):
    (root / "six.py").write_text("".join(f"def f{n}():\n    pass\n" for n in range(LINES)))
    assert len(found(root, "six.py").splitlines()) == 1 + LINES


def test_of_many_files_six_are_told_and_the_others_counted(root):
    for number in range(8):
        (root / f"part{number}.py").touch()
    assert found(root, "part").splitlines()[-2:] == ["6. `part5.py`", "and 2 more."]


def test_a_file_in_another_language_is_told_too(root):
    (root / "main.go").write_text("package main\n\nfunc main() {\n}\n\ntype Cart struct {\n}\n")
    assert found(root, "main.go") == "`main.go` defines:\n1. `main:3`\n2. `Cart:6`"


def test_a_binary_file_is_said_to_be_one(root):
    (root / "a.py").write_bytes(b"def f():\0\n")
    assert found(root, "a.py") == "a.py is a binary file; try another file"


def test_a_file_that_is_gone_in_the_middle_is_an_answer(root, monkeypatch):
    workspace = Workspace(root)
    listing = workspace.files()
    monkeypatch.setattr(workspace, "files", lambda *_: listing)
    (root / "shop/cart.py").unlink()
    answer = answer_of(FIND, workspace, pattern="cart.py")
    assert "shop/cart.py" in answer and "\n" not in answer


@pytest.mark.parametrize("target", ["../secret.py", "/etc/passwd", "nowhere.py"])
def test_a_link_out_of_the_folder_shows_nothing(root, target):
    (root.parent / "secret.py").write_text("def secret():\n    pass\n")
    (root / "link.py").symlink_to(target)
    assert "`secret" not in found(root, "link.py")


def test_what_git_ignores_is_not_found(root):
    (root / ".gitignore").write_text("shop/\n")
    assert found(root, "shop/cart.py") == "No file matches `shop/cart.py`."


def test_a_name_with_newlines_forges_no_line(root):
    (root / "a\n1. `b.py`\u2028.py").touch()
    assert found(root, "b.py`") == r"`a\x0a1. `b.py`\xe2\x80\xa8.py` defines nothing at its top level."


def test_a_pattern_with_newlines_forges_no_line(root):
    assert found(root, "zebra\nSeveral files match:") == r"No file matches `zebra\x0aSeveral files match:`."


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS refuses names that are not UTF-8")
def test_a_name_in_no_encoding_is_shown(root):
    (root / os.fsdecode(b"caf\xe9.py")).touch()
    assert found(root, "caf") == r"`caf\xe9.py` defines nothing at its top level."


def test_a_stop_ends_it_and_says_so(root):
    first, second = found(root, "cart.py", lambda: True).splitlines()
    assert first == "No file matches `cart.py`."
    assert second.startswith("… only the first 0 files")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "error: pattern is missing; call again with pattern as text"),
        ({"pattern": "\n"}, "error: pattern is empty; call again with pattern as text"),
        ({"pattern": "a", "path": "a"}, "error: unknown argument path; use pattern"),
    ],
)
def test_a_wrong_call_is_answered_with_what_to_do(root, arguments, sentence):
    result = run_tool(Toolbox(NANO, Workspace(root)), "find", arguments)
    assert (result.output, result.ok) == (sentence, False)


NAMES = st.text(st.characters(exclude_characters="/\0`", exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(pattern=st.text(max_size=30), name=NAMES, code=st.text("def class f():[]{},`'\"\n\t\\#=x\0\ré", max_size=200))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_asked_of_whatever_files_every_line_is_of_a_list(tmp_path_factory, pattern, name, code):
    root = tmp_path_factory.mktemp("any")
    (root / f"{name}.py").write_text(code, encoding="utf-8")
    for asked in (pattern, ".py", name, "*"):
        try:
            lines = found(root, asked).split("\n")
        except ArgumentError:
            continue
        passed_over = ("No file matches `", "is a binary file; try another file")
        assert all(ITEM.fullmatch(line) or any(each in line for each in passed_over) for line in lines)
