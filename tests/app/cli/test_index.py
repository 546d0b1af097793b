"""`index`, `search` and `map` as a user meets them: lines, JSON, exit codes, and nothing a terminal would obey."""

import json
import os
import signal
import subprocess
import sys

import pytest

from laguna_tui.cli.main import command_parser, main
from tests.app.repo.conftest import git, shop, write  # noqa: F401  (a fixture)

HEAVY = (
    "numpy", "tree_sitter", "pathspec", "filelock", "asyncio", "importlib.metadata", "multiprocessing", "rich",
    "textual", "llama_cpp", "laguna_tui.base.settings", "laguna_tui.repo.search.index_update",
    "laguna_tui.repo.search.file_parsing", "laguna_tui.repo.syntax.language_patterns", "laguna_tui.cli.ask",
)  # fmt: skip
"""What takes longer to import than the search takes, and what only a changed folder needs."""


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LAGUNA_TUI_INDEX", str(tmp_path / "indexes"))


def run(capsys, *arguments):
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_index_reports_what_it_read(shop, capsys):  # noqa: F811
    code, out, _ = run(capsys, "index", "--folder", str(shop))
    assert code == 0
    assert out.startswith("6 files, ")
    assert "6 files read" in out
    code, out, _ = run(capsys, "index", "--folder", str(shop), "--rebuild", "--json")
    assert json.loads(out)["read"] == 6


def test_search_prints_symbol_place_and_signature(shop, capsys):  # noqa: F811
    code, out, _ = run(capsys, "search", "--folder", str(shop), "--limit", "1", "whole", "cents")
    assert (code, out) == (0, "roundMoney shop/prices.py:8: def roundMoney(amount)\n")


def test_search_shows_what_else_of_a_file_matches(shop, capsys):  # noqa: F811
    _, out, _ = run(capsys, "search", "--folder", str(shop), "--limit", "1", "total", "price", "cart")
    assert out.splitlines()[:2] == [
        "ShoppingCart.total_price shop/cart.py:12: def total_price(self)",
        "    also ShoppingCart.__init__:8: def __init__(self, prices: PriceList)",
    ]
    _, out, _ = run(capsys, "search", "--folder", str(shop), "--limit", "1", "--json", "total", "price", "cart")
    (result,) = json.loads(out)["results"]
    assert [also["path"] for also in result["also"]] == ["shop/cart.py"] * 2


def test_search_shows_the_first_line_with_a_word_of_what_has_no_name(shop, capsys):  # noqa: F811
    (shop / "shop/table.py").write_text('"""\nWombats and their burrows.\n"""\n')
    _, out, _ = run(capsys, "search", "--folder", str(shop), "--limit", "1", "wombats", "burrows")
    assert out == "- shop/table.py:2: Wombats and their burrows.\n"


def test_search_shows_the_factors_of_a_score(shop, capsys):  # noqa: F811
    assert "definition 3.00" in run(capsys, "search", "--folder", str(shop), "--why", "roundMoney")[1]
    _, out, _ = run(capsys, "search", "--folder", str(shop), "--json", "roundMoney")
    assert json.loads(out)["results"][0]["factors"]["definition"] == 3.0


def test_search_by_symbol(shop, capsys):  # noqa: F811
    code, out, _ = run(capsys, "search", "--folder", str(shop), "--symbol", "ShopCart")
    assert code == 0
    assert out.startswith("ShoppingCart shop/cart.py:5: class ShoppingCart")


def test_search_by_uses(shop, capsys):  # noqa: F811
    code, out, _ = run(capsys, "search", "--folder", str(shop), "--uses", "total_price")
    assert code == 0
    assert out.splitlines() == [
        "monthly_report shop/report.py:6: return [roundMoney(cart.total_price()) for cart in carts]",
        "test_total_price_of_a_shopping_cart_is_rounded tests/test_cart.py:5:"
        " assert ShoppingCart(None).total_price() == 0",
    ]
    assert run(capsys, "search", "--folder", str(shop), "--uses", "nobody")[0] == 1
    assert run(capsys, "search", "--folder", str(shop), "--uses", "--symbol", "x")[0] == 2


def test_nothing_found_is_exit_code_1(shop, capsys):  # noqa: F811
    code, out, err = run(capsys, "search", "--folder", str(shop), "zzqqx\x1b[31m")
    assert (code, out) == (1, "")
    assert err == "laguna-tui: nothing found for zzqqx␛[31m\n"


GAPS = "not searched: 1 large file (huge.log), 1 binary file (data.pack), 1 other repository (nested; use --folder)"


def test_without_results_it_names_what_was_not_searched(shop, capsys):  # noqa: F811
    (shop / "huge.log").write_text("wombat\n" * 400_000)
    (shop / "data.pack").write_bytes(b"wombat\0")
    write(shop, {"nested/burrow.py": "def wombat(): pass\n"})
    git(shop / "nested", "init")
    git(shop / "nested", "add", ".")
    git(shop / "nested", "commit", "-m", "begin")
    for options in ((), ("--symbol",), ("--uses",)):
        answer = run(capsys, "search", "--folder", str(shop), *options, "wombat")
        assert answer == (1, "", f"laguna-tui: nothing found for wombat; {GAPS}\n")
    assert json.loads(run(capsys, "search", "--folder", str(shop), "--json", "wombat")[1])["notes"] == [GAPS]
    assert run(capsys, "search", "--folder", str(shop), "roundMoney")[2] == ""
    assert run(capsys, "index", "--folder", str(shop))[2] == f"laguna-tui: {GAPS}\n"
    assert json.loads(run(capsys, "index", "--folder", str(shop), "--json")[1])["notes"] == [GAPS]
    assert run(capsys, "map", "--folder", str(shop))[2] == ""
    everything = ("map", "--folder", str(shop), "--focus", *(str(shop / name) for name in ("shop", "tests", "web")))
    assert run(capsys, *everything) == (0, "", f"laguna-tui: no definitions found outside --focus; {GAPS}\n")


def test_a_bare_repository_is_named(shop, tmp_path, capsys):  # noqa: F811
    bare = str(tmp_path / "shop.git")
    git(tmp_path, "clone", "--bare", str(shop), bare)
    reason = (
        "this is a bare repository, which has no files to search; check out a branch with git worktree add FOLDER"
        " BRANCH, and use that folder"
    )
    assert run(capsys, "search", "--folder", bare, "cart")[2] == f"laguna-tui: nothing found for cart; {reason}\n"
    assert run(capsys, "map", "--folder", bare)[2] == f"laguna-tui: no definitions found; {reason}\n"
    assert run(capsys, "index", "--folder", bare)[2] == f"laguna-tui: {reason}\n"


def test_what_a_sparse_checkout_leaves_out_is_named(shop, capsys):  # noqa: F811
    git(shop, "add", ".")
    git(shop, "commit", "-m", "begin")
    git(shop, "sparse-checkout", "set", "web")
    assert run(capsys, "search", "--folder", str(shop), "monthly")[2] == (
        "laguna-tui: nothing found for monthly; not searched: 2 paths outside the sparse checkout (shop, tests; run"
        " git sparse-checkout add FOLDER)\n"
    )


def test_a_search_in_an_unchanged_folder_imports_little(shop, tmp_path):  # noqa: F811
    git(shop, "init", "-q")
    for path in shop.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    program = (
        "import sys\nfrom laguna_tui.cli.main import main\n"
        "code = main(['search', 'whole', 'cents'])\n"
        f"print(code, [name for name in {HEAVY!r} if name in sys.modules])"
    )
    command = [sys.executable, "-c", program]
    first, second = (subprocess.run(command, cwd=shop, capture_output=True, check=True, text=True) for _ in range(2))
    assert "numpy" in first.stdout.splitlines()[-1]
    assert second.stdout.splitlines()[-1] == "0 []"
    assert second.stdout.splitlines()[:-1] == first.stdout.splitlines()[:-1] != []


@pytest.mark.parametrize("words", ["search --help", "search --limt 3", "map --tokens", "index --folder", "search x -q"])
def test_the_parser_without_settings_answers_the_same(capsys, words):
    said = []
    for parser in (command_parser(), command_parser(words.split())):
        with pytest.raises(SystemExit) as ended:
            parser.parse(words.split())
        said.append((ended.value.code, *capsys.readouterr()))
    assert said[0] == said[1]


def test_map_keeps_to_its_tokens(shop, capsys):  # noqa: F811
    code, out, _ = run(capsys, "map", "--folder", str(shop), "--tokens", "64")
    assert code == 0
    assert "shop/prices.py" in out
    assert len(out) <= 64 * 3
    _, out, _ = run(capsys, "map", "--folder", str(shop), "--focus", str(shop / "shop/cart.py"), "--json")
    assert "cart.py" not in json.loads(out)["text"].split("tests/")[0]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("map", "--focus", "nowhere.py"), "no such file or folder"),
        (("map", "--focus", "/etc/passwd"), "no such file or folder"),
        (("search", "--folder", "/nowhere", "x"), "not a folder"),
    ],
)
def test_mistakes_are_sentences(shop, capsys, monkeypatch, arguments, part):  # noqa: F811
    monkeypatch.chdir(shop)
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert part in err


def test_hostile_names_and_contents_never_reach_the_terminal(shop, capsys):  # noqa: F811
    (shop / os.fsdecode(b"ev\x1b]0;x\x07il\xff\n.py")).write_text("def hostile(a='\x1b[2J\u202e'): pass\n")
    for arguments in (("search", "hostile"), ("search", "--symbol", "hostile"), ("map", "--tokens", "900")):
        _, out, err = run(capsys, arguments[0], "--folder", str(shop), *arguments[1:])
        assert "hostile" in out
        assert not set("\x1b\x07\u202e") & set(out + err)
        out.encode()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_tree_sitter_runs_a_query_ends_the_search(tmp_path, number, code):
    functions = "".join(f"  def step_{at}(order) do\n    total(order, {at})\n  end\n" for at in range(3_000))
    (tmp_path / "shop.ex").write_text(f"defmodule Shop do\n{functions}end\n")
    program = """
import sys, time
from laguna_tui.cli.main import main
from laguna_tui.repo.syntax.grammars import Grammar
matches = Grammar.matches
def announced(grammar, query, root):
    print("running", flush=True)
    found = matches(grammar, query, root)
    time.sleep(60)
    return found
Grammar.matches = announced
sys.exit(main(["search", "--uses", "total", "--folder", sys.argv[1]]))
"""
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "running\n"
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in err) == (code, False)
