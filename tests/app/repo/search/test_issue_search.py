"""A long request leads to the code that it is about by its frames, paths and names."""

import pytest

from laguna_tui.cli.main import main
from laguna_tui.repo.search.issue_search import is_issue, read_issue, search_issue
from tests.app.repo.conftest import write

TRACEBACK = """# The monthly page fails

When the page is opened on the first of the month we get this. Everything else works as it did.

```
Traceback (most recent call last):
  File "/home/me/shop/shop/report.py", line 6, in monthly_report
    return [roundMoney(cart.total_price()) for cart in carts]
  File "/home/me/shop/shop/prices.py", line 6, in lookup
    return self.table[item]
KeyError: 'apple'
```
"""


def test_what_a_request_says():
    issue = read_issue(TRACEBACK + "See `PriceList`, web/cart.ts and https://example.com/a.py.")
    assert issue.frames == (("/home/me/shop/shop/prices.py", 6), ("/home/me/shop/shop/report.py", 6))
    assert "web/cart.ts" in issue.paths
    assert not any("example.com" in path for path in issue.paths)
    assert issue.names[:2] == ("lookup", "monthly_report")
    assert "PriceList" in issue.names
    assert issue.prose.startswith("The monthly page fails\nWhen the page")


@pytest.mark.parametrize(
    ("text", "frame"),
    [
        ("    at Cart.render (src/web/cart.ts:3:11)", ("src/web/cart.ts", 3)),
        ("\tat shop.Cart.total(Cart.java:12)", ("Cart.java", 12)),
        ("thread 'main' panicked at src/main.rs:4:5:", ("src/main.rs", 4)),
        ("\t/go/src/shop/cart.go:17 +0x1d", ("/go/src/shop/cart.go", 17)),
    ],
)
def test_frames_of_other_languages(text, frame):
    assert read_issue(text).frames == (frame,)


def test_the_unit_where_the_error_was_raised_comes_first(index):
    found = search_issue(index.connection, TRACEBACK)
    assert found[0].unit.title == "PriceList.lookup"
    assert "frame" in found[0].factors
    assert "monthly_report" in [result.unit.title for result in found[:3]]


def test_a_file_that_is_named_is_among_the_results(index):
    found = search_issue(
        index.connection, "Something is wrong with the sums that are shown, see web/cart.ts for a start."
    )
    assert "web/cart.ts" in {result.unit.path for result in found[:3]}


def test_short_questions_are_none():
    assert not is_issue("where is the price rounded?")
    assert is_issue(TRACEBACK)
    assert is_issue("word " * 41)


@pytest.mark.parametrize("text", ["", "\0", "```", 'File "", line 1', "a.b:99999999", "/" * 5000, "(" * 5000 + ".py:1"])
def test_no_text_is_a_fault(index, text):
    assert isinstance(search_issue(index.connection, text), list)


def test_the_command_line_reads_an_issue_from_a_file(shop, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LAGUNA_TUI_INDEX", str(tmp_path / "index"))
    write(tmp_path, {"issue.md": TRACEBACK})
    assert main(["search", "--folder", str(shop), "--issue", str(tmp_path / "issue.md"), "--limit", "1"]) == 0
    assert capsys.readouterr().out.startswith("PriceList.lookup shop/prices.py:5")


@pytest.mark.parametrize("arguments", [["--issue", "x", "word"], ["--issue", "/nowhere/issue.md"], []])
def test_what_cannot_be_searched_for_is_said(shop, tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.setenv("LAGUNA_TUI_INDEX", str(tmp_path / "index"))
    assert main(["search", "--folder", str(shop), *arguments]) == 2
    assert "laguna-tui: " in capsys.readouterr().err
