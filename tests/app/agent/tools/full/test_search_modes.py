"""The full search: definitions by name, code by words, and all that the plain one does."""

from dataclasses import replace
from functools import partial

import pytest
from filelock import FileLock

from laguna_tui.agent.tool_run import ToolRun
from laguna_tui.agent.tools.base.results import ResultStore
from laguna_tui.agent.tools.full.profile import FULL
from laguna_tui.agent.tools.full.search import SEARCH, STILL_INDEXING, search_lines
from laguna_tui.agent.tools.full.search import search as search_tool
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.context.codebase import Codebase
from laguna_tui.repo.files.workspace import Workspace
from laguna_tui.repo.search.index_database import index_path
from tests.app.approvers import YES, answer_of, run_tool
from tests.app.repo.conftest import FILES, write


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "shop"
    write(root, FILES)
    return root


@pytest.fixture
def codebase(root, tmp_path):
    opened = Codebase(root, tmp_path / "cache")
    yield opened
    opened.close()


@pytest.fixture
def search(root, tmp_path, codebase):
    """Runs the tool as the model calls it."""
    box = Toolbox(FULL, Workspace(root), ResultStore(tmp_path / "results"), codebase=codebase)
    yield lambda pattern, **more: run_tool(box, "search", {"pattern": pattern, **more}).output
    box.close()


def test_without_a_mode_it_is_the_plain_search(search, root):
    run = ToolRun(Workspace(root), 1, lambda event: None, lambda request: YES, lambda: False)
    for arguments in ({"pattern": "def .*price"}, {"pattern": "cart", "path": "web"}, {"pattern": "nothing at all"}):
        plain = search_lines(run, arguments["pattern"], arguments.get("path", "")).output
        assert search(**arguments) == search(**arguments, mode="regex") == plain


def test_a_symbol_is_found_where_it_is_defined(search):
    assert search("ShoppingCart", mode="symbol") == "ShoppingCart shop/cart.py:5: class ShoppingCart"
    assert search("ShoppingCart.total_price", mode="symbol") == (
        "ShoppingCart.total_price shop/cart.py:12: def total_price(self)"
    )


def test_scopes_say_which_definition_is_meant(search, root):
    write(root, {"runs.py": "class One:\n    def run(self): pass\n\nclass Two:\n    def run(self): pass\n"})
    assert search("Two.run", mode="symbol") == "Two.run runs.py:5: def run(self)"
    assert search("run", mode="symbol").splitlines() == [
        "One.run runs.py:2: def run(self)",
        "Two.run runs.py:5: def run(self)",
    ]


def test_a_part_of_a_name_finds_the_names_it_could_be(search):
    assert search("price", mode="symbol").splitlines()[:2] == [
        "PriceList shop/prices.py:4: class PriceList",
        "ShoppingCart.total_price shop/cart.py:12: def total_price(self)",
    ]


def test_words_find_code_and_say_why(search):
    first, *_ = search("round an amount to whole cents", mode="ranked").splitlines()
    assert first == "roundMoney shop/prices.py:8: def roundMoney(amount) (name)"


def test_text_is_found_by_its_heading(search):
    first, *_ = search("refund within a week", mode="ranked").splitlines()
    assert first.startswith("- README.md:5: Refunds")


def test_text_without_a_heading_is_shown_by_its_line_with_most_of_the_words(search, root):
    write(root, {"ci.sh": "#!/bin/sh\n\nmake vouchers\nmake voucher_summaries\n"})
    assert search("summary of vouchers", mode="ranked") == "- ci.sh:4: make voucher_summaries"


def test_who_uses_a_name_is_told_without_comments_and_strings(search, root):
    write(root, {"notes.py": "# roundMoney\n", "CHANGELOG.md": "roundMoney is new\n"})
    assert search("roundMoney", mode="uses").splitlines() == [
        "- shop/cart.py:3: from shop.prices import PriceList, roundMoney",
        "total_price shop/cart.py:14: return roundMoney(sum(self.prices.lookup(item) for item in self.items))",
        "- shop/report.py:3: from shop.prices import roundMoney",
        "monthly_report shop/report.py:6: return [roundMoney(cart.total_price()) for cart in carts]",
    ]
    assert search("nobody", mode="uses") == "no code uses nobody; try mode regex"


def test_a_path_narrows_every_mode(search):
    assert "cart.py" not in search("roundMoney", mode="uses", path="shop/report.py")
    assert search("cart", mode="symbol", path="web").splitlines() == ["CartView web/cart.ts:2: export class CartView"]
    assert "web/cart.ts" not in search("cart total", mode="ranked", path="shop")
    assert search("cart", mode="symbol", path="README.md").startswith("no definition is called cart")


def test_what_was_written_a_moment_ago_is_found(search, root):
    assert search("Voucher", mode="symbol") == "no definition is called Voucher; try mode ranked"
    write(root, {"shop/voucher.py": "class Voucher:\n    pass\n"})
    assert search("Voucher", mode="symbol") == "Voucher shop/voucher.py:1: class Voucher"


def test_more_results_than_are_read_are_counted(search, root):
    write(root, {"many.py": "".join(f"def handle_{number}(): pass\n" for number in range(30))})
    lines = search("handle", mode="symbol").splitlines()
    assert len(lines) == 21
    assert lines[-1] == "… 10 more"


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ({"pattern": "x", "mode": "fuzzy"}, "error: there is no mode fuzzy; call again with one of regex, symbol"),
        ({"pattern": "x", "mode": 3}, "error: mode is missing; call again with mode as text"),
        ({"pattern": "", "mode": "symbol"}, "error: pattern is empty"),
        ({"pattern": "x" * 2000, "mode": "ranked"}, "error: the pattern is longer than 1000 characters"),
        ({"pattern": "x", "mode": "symbol", "path": "../.."}, "error: ../.. is outside the folder"),
        ({"pattern": "x", "query": "y"}, "error: unknown argument query; use pattern, mode, path"),
        ({"pattern": "\udcff'\" OR 1", "mode": "ranked"}, "no code has the words"),
        ({"pattern": "%_!", "mode": "symbol"}, "no definition is called %_!"),
    ],
)
def test_whatever_a_model_writes_gets_a_sentence(search, arguments, answer):
    assert search(**arguments).startswith(answer)


def test_an_index_that_is_not_ready_in_time_is_said_to_be_a_part(root, tmp_path, codebase):
    (tmp_path / "cache").mkdir()
    with FileLock(f"{index_path(root, tmp_path / 'cache')}.lock"):
        tool = replace(SEARCH, run=partial(search_tool, wait_s=0.0))
        answer = answer_of(tool, Workspace(root), codebase=codebase, pattern="cart", mode="symbol")
    assert answer.splitlines()[-1] == STILL_INDEXING


def test_a_stop_by_the_user_ends_the_waiting(root, tmp_path, codebase):
    (tmp_path / "cache").mkdir()
    with FileLock(f"{index_path(root, tmp_path / 'cache')}.lock"):
        tool = replace(SEARCH, run=partial(search_tool, wait_s=3600.0))
        assert answer_of(tool, Workspace(root), lambda: True, codebase=codebase, pattern="cart", mode="ranked")
