"""What the tools of the full set answer, to the byte."""

import itertools
import os
import stat
import sys
import threading
import time
from pathlib import Path

import pytest

from laguna_tui.agent.tools.base.results import ResultStore
from laguna_tui.agent.tools.full.profile import FULL
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.context.codebase import Codebase
from laguna_tui.repo.files.walk import SEARCH_LIMIT_BYTES
from laguna_tui.repo.files.workspace import Workspace
from tests.app.approvers import run_tool
from tests.app.repo.conftest import git, write


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "project"
    files = {
        "shop/cart.py": "from shop.item import Item\n\nLIMIT = 3\n\n\nclass Cart:\n    def add(self, item):\n"
        "        check(item)\n        return Item(item)\n\n\ndef check(item):\n    pass\n",
        "shop/item.py": '"""def check(item): only quoted\n\ndef check(quoted):\n"""\n\n\nclass Item:\n    pass\n',
        "tests/test_cart.py": "def test_check():\n    check(1)\n",
        "README.md": "# Shop\n\nCall `check`.\n",
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.fixture
def toolbox(root, tmp_path):
    codebase = Codebase(root, tmp_path / "index")
    box = Toolbox(FULL, Workspace(root), ResultStore(tmp_path / "cache"), codebase=codebase)
    yield box
    box.close()
    codebase.close()


def output(toolbox, name, **arguments):
    return run_tool(toolbox, name, arguments).output


def test_search_puts_definitions_of_the_name_first(toolbox):
    assert output(toolbox, "search", pattern="check") == (
        "check shop/cart.py:12: def check(item):\n"
        "- README.md:3: Call `check`.\n"
        "add shop/cart.py:8: check(item)\n"
        '- shop/item.py:1: """def check(item): only quoted\n'
        "- shop/item.py:3: def check(quoted):\n"
        "test_check tests/test_cart.py:1: def test_check():\n"
        "test_check tests/test_cart.py:2: check(1)"
    )


def test_search_takes_a_regular_expression(toolbox):
    assert output(toolbox, "search", pattern=r"^def \w+\(item") == "check shop/cart.py:12: def check(item):"


def test_an_invalid_expression_is_taken_literally(toolbox):
    assert output(toolbox, "search", pattern="Item(") == "add shop/cart.py:9: return Item(item)"


@pytest.mark.parametrize(("path", "places"), [("tests", ["1", "2"]), ("shop/cart.py", ["12", "8"]), ("./", ["12"])])
def test_search_can_be_narrowed_to_a_path(toolbox, path, places):
    lines = output(toolbox, "search", pattern="check", path=path).splitlines()
    assert [line.split(":")[1] for line in lines][: len(places)] == places


def test_a_folder_that_is_ignored_is_searched_when_it_is_named(toolbox, root):
    (root / ".gitignore").write_text("vendor/\n")
    (root / "vendor/lib").mkdir(parents=True)
    (root / "vendor/lib/a.py").write_text("def needle():\n")
    assert output(toolbox, "search", pattern="needle") == "no matches for needle"
    assert output(toolbox, "search", pattern="needle", path="vendor") == "needle vendor/lib/a.py:1: def needle():"


def test_search_says_that_nothing_matched(toolbox):
    assert output(toolbox, "search", pattern="zebra") == "no matches for zebra"


def test_search_shows_twenty_lines_and_counts_the_rest(toolbox, root):
    for number in range(3):
        (root / f"many{number}.txt").write_text("needle\n" * 19)
    result = run_tool(toolbox, "search", {"pattern": "needle"})
    lines = result.output.splitlines()
    assert len(lines) == 21
    assert lines[-1] == "… 37 more matches in 2 files"
    assert len(Path(result.full_output).read_text().splitlines()) == 57


def test_one_more_match_is_one(toolbox, root):
    (root / "many.txt").write_text("needle\n" * 21)
    assert output(toolbox, "search", pattern="needle").splitlines()[-1] == "… 1 more match in 1 file"


def test_code_is_cut_at_120_characters(toolbox, root):
    (root / "long.txt").write_text("    needle " + "x" * 5000)
    code = output(toolbox, "search", pattern="needle").removeprefix("- long.txt:1: ")
    assert len(code) == 120
    assert code.endswith("x…")


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16", "utf-8-sig"])
def test_search_reads_every_encoding(toolbox, root, encoding):
    (root / "wide.txt").write_bytes("première\r\ngarçon needle\r\n".encode(encoding))
    assert output(toolbox, "search", pattern="gar.on needle") == "- wide.txt:2: garçon needle"
    assert output(toolbox, "search", pattern="garçon") == "- wide.txt:2: garçon needle"


def test_nothing_found_says_what_was_not_searched(toolbox, root):
    (root / "picture.bin").write_bytes(b"zebra\0")
    (root / "other.bin").write_bytes(b"horse\0")
    with (root / "huge.log").open("wb") as file:
        file.write(b"zebra\n")
        file.truncate(SEARCH_LIMIT_BYTES + 1)
    git(root, "init")
    library = root / "vendor/library"
    write(library, {"a.py": "def zebra(): pass\n"})
    git(library, "init")
    git(library, "add", ".")
    git(library, "commit", "-m", "begin")
    elsewhere = "1 other repository (vendor/library; use path, in mode regex)"
    files = "1 large file (huge.log), 1 binary file (picture.bin)"
    assert output(toolbox, "search", pattern="zebra") == f"no matches for zebra\n… not searched: {files}, {elsewhere}"
    assert output(toolbox, "search", pattern="zebra", path="huge.log") == (
        "no matches for zebra\n… not searched: 1 large file (huge.log)"
    )
    for path in ("vendor", "vendor/library"):
        assert output(toolbox, "search", pattern="zebra", path=path, mode="symbol") == (
            f"no definition is called zebra; try mode ranked\n… not searched: {elsewhere}"
        )
    nothing = f"no matches for zebra\n… not searched: {elsewhere}"
    assert output(toolbox, "search", pattern="zebra", path="vendor") == nothing
    found = "zebra vendor/library/a.py:1: def zebra(): pass"
    assert output(toolbox, "search", pattern="zebra", path="vendor/library") == found
    assert output(toolbox, "search", pattern="check").count("not searched") == 0
    assert output(toolbox, "find", pattern="a.py") == (
        "no files match a.py\n… not searched: 1 other repository (vendor/library; use list)"
    )
    assert output(toolbox, "list", path="vendor") == "library/"


def test_bare_repositories_in_the_folder_are_named(toolbox, root):
    git(root, "init", "--bare", "mirrors/shop.git")
    nothing = "no matches for bare\n… not searched: 1 bare repository (mirrors/shop.git; use git worktree add)"
    for path in ("", "mirrors", "mirrors/shop.git"):
        assert output(toolbox, "search", pattern="bare", path=path) == nothing


def test_a_secret_file_is_not_named_for_what_it_holds(toolbox, root):
    (root / "id_rsa").write_bytes(b"zebra\0")
    assert output(toolbox, "search", pattern="zebra") == "no matches for zebra"


def test_a_search_in_the_index_names_all_binary_files_in_the_path(toolbox, root):
    write(root, {"pictures/horse.bin": "horse\0", "zebra.bin": "zebra\0"})
    found = output(toolbox, "search", pattern="zebra", path="pictures", mode="uses")
    assert found == "no code uses zebra; try mode regex\n… not searched: 1 binary file (pictures/horse.bin)"


def test_search_passes_over_binary_huge_and_odd_files(toolbox, root):
    (root / "binary.bin").write_bytes(b"check\0\n")
    os.mkfifo(root / "pipe")
    with (root / "huge.log").open("wb") as file:
        file.write(b"check\n")
        # So much that reading it all would take longer than any test may.
        file.truncate(4 * 1024**4)
    found = output(toolbox, "search", pattern="check")
    assert "huge" not in found
    assert "binary" not in found


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+$",
        r"(a|a)*b",
        r"(a|aa)+$",
        r"a*a*a*a*a*a*a*a*a*a*b",
        r"(.*?,){25}P",
        r"a?" * 28 + "a" * 28 + "b",
        r"((a)\2?)+$",
    ],
)
def test_an_exploding_expression_ends_with_what_was_found(toolbox, root, monkeypatch, pattern):
    monkeypatch.setattr("laguna_tui.agent.tools.full.search.BUDGET_S", 0.5)
    (root / "trap.txt").write_text("a" * 60 + "!\n" + "x,y," * 300 + "\n")
    found = output(toolbox, "search", pattern=pattern, path="trap.txt")
    assert found.startswith("no matches for ")


def test_running_out_of_time_is_said(toolbox, root, monkeypatch):
    monkeypatch.setattr("laguna_tui.agent.tools.full.search.BUDGET_S", 0.2)
    monkeypatch.setattr("laguna_tui.agent.tools.base.regex_search.BUDGET_S", 0.2)
    (root / "trap.txt").write_text("a" * 60 + "!\n")
    last = output(toolbox, "search", pattern="(a|aa)+$", path="trap.txt").splitlines()[-1]
    # Which of the two limits is noticed first depends on the machine: that of a line, or that of the search.
    assert last in (
        "… stopped after 0 s; use a simpler pattern or search in one path",
        "… 1 line took too long to match; use a simpler pattern",
    )


def test_a_line_that_takes_too_long_is_left_out_and_said_to_be(toolbox, root, monkeypatch):
    monkeypatch.setattr("laguna_tui.agent.tools.base.regex_search._LINE_S", 0.05)
    (root / "trap.txt").write_text("a" * 60 + "!\n" + "aaa\n")
    found = output(toolbox, "search", pattern="(a|aa)+$", path="trap.txt").splitlines()
    assert found == ["- trap.txt:2: aaa", "… 1 line took too long to match; use a simpler pattern"]


def test_other_threads_run_while_a_line_is_matched(toolbox, root):
    (root / "trap.txt").write_text("a" * 60 + "!\n")
    ticks, done = itertools.count(), threading.Event()

    def tick():
        while not done.is_set():
            next(ticks)
            time.sleep(0.001)

    clock = threading.Thread(target=tick)
    clock.start()
    output(toolbox, "search", pattern="(a|aa)+$", path="trap.txt")
    done.set()
    clock.join()
    assert next(ticks) > 10


def test_the_user_can_stop_a_search(toolbox, root, monkeypatch):
    """Nothing else ends it: neither the expression nor the budget would while a test may run."""
    monkeypatch.setattr("laguna_tui.agent.tools.full.search.BUDGET_S", 1e6)
    (root / "trap.txt").write_text(("a" * 60 + "!\n") * 10_000)
    asked = itertools.count()
    run_tool(toolbox, "search", {"pattern": "(a|aa)+$", "path": "trap.txt"}, lambda: next(asked) > 8)
    assert next(asked) > 9


def test_find_outlines_a_few_files(toolbox):
    assert output(toolbox, "find", pattern="cart") == (
        "shop/cart.py\n"
        "Cart shop/cart.py:6: class Cart:\n"
        "check shop/cart.py:12: def check(item):\n"
        "tests/test_cart.py\n"
        "test_check tests/test_cart.py:1: def test_check():"
    )


def test_find_lists_more_files_bare_and_sorted(toolbox, root):
    (root / "a.py").touch()
    assert output(toolbox, "find", pattern="*.py") == "a.py\nshop/cart.py\nshop/item.py\ntests/test_cart.py"


@pytest.mark.parametrize(
    ("pattern", "count"),
    [("shop/*.py", 2), ("**/cart.py", 1), ("readme", 1), ("README", 1), ("Readme", 0), ("./shop/item.py", 1), ("[", 0)],
)
def test_find_takes_a_part_of_a_path_or_a_glob(toolbox, pattern, count):
    lines = output(toolbox, "find", pattern=pattern).splitlines()
    assert sum(" " not in line for line in lines) == count


def test_find_says_that_nothing_matched(toolbox):
    assert output(toolbox, "find", pattern="zebra") == "no files match zebra"


def test_an_outline_has_at_most_twelve_lines(toolbox, root):
    (root / "big.py").write_text("".join(f"def f{n}():\n    pass\n" for n in range(15)))
    lines = output(toolbox, "find", pattern="big.py").splitlines()
    assert len(lines) == 14
    assert lines[-1] == "… 3 more definitions"


def test_read_numbers_lines(toolbox):
    assert output(toolbox, "read", path="README.md") == "1: # Shop\n2: \n3: Call `check`."
    assert output(toolbox, "read", path="shop/cart.py", offset=12, limit=1).startswith(
        "12: def check(item):\n… lines 13-"
    )


def test_read_says_what_it_does_not_show(toolbox, root):
    (root / "long.txt").write_text("".join(f"{n}\n" for n in range(1, 941)))
    lines = output(toolbox, "read", path="long.txt").splitlines()
    assert lines[199] == "200: 200"
    assert lines[200:] == ["… lines 201-940 not shown; read them with offset=201"]
    lines = output(toolbox, "read", path="long.txt", offset=11, limit=600).splitlines()
    assert (lines[0], lines[599:]) == ("11: 11", ["610: 610", "… lines 611-940 not shown; read them with offset=611"])
    assert output(toolbox, "read", path="long.txt", offset=901, limit=2000).splitlines()[-1] == "940: 940"


def test_read_shows_as_many_lines_as_an_answer_has_room_for(toolbox, root):
    (root / "wide.txt").write_text("".join(f"{n} {'x' * 500}\n" for n in range(100)))
    result = run_tool(toolbox, "read", {"path": "wide.txt"})
    lines = result.output.splitlines()
    assert len(result.output) < 12_000
    assert lines[-2].startswith("23: 22 x")
    assert lines[-1] == "… lines 24-100 not shown; read them with offset=24"
    assert result.excerpt == "\n".join(f"{n} {'x' * 500}" for n in range(23))


def test_read_cuts_a_line_that_nobody_reads(toolbox, root):
    (root / "bundle.js").write_text("y" * 50_000 + "\nshort\n")
    assert output(toolbox, "read", path="bundle.js") == f"1: {'y' * 2000}… 48,000 more characters\n2: short"


def test_a_long_result_keeps_head_and_tail_and_the_whole_on_disk(toolbox, root, tmp_path):
    (root / "wide").mkdir()
    for number in range(100):
        (root / f"wide/{number:03} {'x' * 200}").touch()
    result = run_tool(toolbox, "list", {"path": "wide"})
    lines = result.output.splitlines()
    assert len(result.output) < 12_100
    assert lines[0].startswith("000 x")
    assert lines[-1].startswith("099 x")
    assert "characters left out here" in result.output
    whole = Path(result.full_output)
    assert len(whole.read_text().splitlines()) == 100
    assert stat.S_IMODE(whole.stat().st_mode) == 0o600
    toolbox.close()
    assert not whole.exists()


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("read", {"path": "../x"}, "error: ../x is outside the folder; use a path inside it, as find lists it"),
        ("read", {"path": "shop"}, "error: shop is a folder; use find to list its files"),
        ("read", {"path": "no.py"}, "error: there is no file no.py; use find to see which files there are"),
        ("read", {"path": "README.md", "offset": 9}, "error: README.md has 3 lines; call again with an offset in them"),
        ("read", {"path": "README.md", "limit": 0}, "error: limit is not a number of lines; call again with a whole number from 1"),  # noqa: E501
        ("read", {"path": "README.md", "offset": 0}, "error: offset is not a line number; call again with a whole number from 1"),  # noqa: E501
        ("read", {}, "error: path is missing; call again with path as text"),
        ("search", {"pattern": ["a"]}, "error: pattern is missing; call again with pattern as text"),
        ("search", {"pattern": " "}, "error: pattern is empty; call again with pattern as text"),
        ("search", {"pattern": "x", "path": "no"}, "error: there is no file no; use find to see which files there are"),
        ("find", {"pattern": "x", "deep": 1}, "error: unknown argument deep; use pattern"),
        ("bash", {}, "error: there is no tool bash; the tools are find, search, list, read, edit, replace_symbol, write, move, delete, shell, todo"),  # noqa: E501
    ],
)  # fmt: skip
def test_a_mistake_is_answered_with_what_to_do(toolbox, name, arguments, expected):
    result = run_tool(toolbox, name, arguments)
    assert (result.output, result.ok) == (expected, False)


@pytest.mark.parametrize(
    "offset",
    ["9" * 45_000, "9" * 4000, 10**4000, 1e308, float("inf"), 10**9 + 1],
    ids=["unreadable", "text", "number", "float", "infinite", "large"],
)
def test_a_line_number_that_no_file_has_is_answered_with_what_to_do(toolbox, offset):
    result = run_tool(toolbox, "read", {"path": "README.md", "offset": offset})
    assert result.output == "error: offset is not a line number; call again with a whole number from 1"


def test_binary_and_empty_files_are_said_to_be_so(toolbox, root):
    (root / "a.bin").write_bytes(b"\0\1")
    (root / "empty.py").touch()
    assert output(toolbox, "read", path="a.bin") == "error: a.bin is a binary file; try another file"
    assert output(toolbox, "read", path="empty.py") == "empty.py is empty"


def test_what_a_killed_session_left_behind_is_removed(toolbox, root, tmp_path):
    (tmp_path / "cache").mkdir()
    old, new = tmp_path / "cache/1-old.txt", tmp_path / "cache/1-new.txt"
    old.touch()
    new.touch()
    os.utime(old, (0, 0))
    (root / "many.txt").write_text("needle\n" * 30)
    run_tool(toolbox, "search", {"pattern": "needle"})
    assert (old.exists(), new.exists()) == (False, True)


def test_a_system_that_refuses_is_an_answer(toolbox, monkeypatch):
    def refuse(*_):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("laguna_tui.agent.tools.full.search.listing_of", refuse)
    assert output(toolbox, "search", pattern="a").startswith("error: search could not work (Too many open files)")


@pytest.mark.parametrize("pattern", ["[[a]check", "(a+)+[[b]"])
def test_advice_about_a_pattern_stays_off_the_screen(toolbox, capfd, recwarn, pattern):
    run_tool(toolbox, "search", {"pattern": pattern})
    assert capfd.readouterr() == ("", "")
    assert not recwarn.list


def test_a_disk_that_refuses_loses_only_the_copy(root, tmp_path):
    blocked = tmp_path / "file"
    blocked.touch()
    codebase = Codebase(root, tmp_path / "index")
    box = Toolbox(FULL, Workspace(root), ResultStore(blocked), codebase=codebase)
    (root / "many.txt").write_text("needle\n" * 30)
    result = run_tool(box, "search", {"pattern": "needle"})
    assert result.ok
    assert result.full_output is None


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS refuses names that are not UTF-8")
def test_a_file_name_in_no_encoding_is_shown_and_read_back(toolbox, root):
    (root / os.fsdecode(b"caf\xe9.txt")).write_text("needle\n")
    assert output(toolbox, "search", pattern="needle") == r"- caf\xe9.txt:1: needle"
    assert output(toolbox, "read", path=r"caf\xe9.txt") == "1: needle"


def test_a_file_name_with_newlines_forges_no_result_line(toolbox, root):
    (root / "a\nerror: x\u2028.txt").write_text("needle\n")
    assert output(toolbox, "find", pattern="error") == r"a\x0aerror: x\xe2\x80\xa8.txt"


@pytest.mark.parametrize("path", [r"\x2e\x2e/secret", r"\x2fetc/passwd", r"\x2egit/config", r"x\x00"])
def test_an_escaped_name_leads_nowhere_else(toolbox, root, path):
    (root.parent / "secret").write_text("secret")
    assert output(toolbox, "read", path=path).startswith("error: ")
    assert "no file" not in output(toolbox, "read", path=path)
