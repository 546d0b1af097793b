"""Who uses a name: code does, in every language; comments, strings and prose do not."""

import pytest

from laguna_tui.repo.search.symbol_uses import find_uses
from laguna_tui.repo.syntax.analysis import lines_with_name
from laguna_tui.repo.syntax.tag_queries import LANGUAGE_OF, TAGS
from tests.app.repo.conftest import write

# Of each language: lines with the name "lookup" as code are marked, all others have it in comments and strings.
MENTIONED = {
    ".py": 'def f(a):\n    """Calls lookup."""\n    # lookup\n    b = "lookup"\n    return lookup(a)  # <-\n',
    ".js": "// lookup\nconst a = 'lookup' + /lookup/;\nconst b = `${lookup(1)}`; // <-\nconst c = `lookup`;\n",
    ".ts": "/* lookup */\nconst a: string = 'lookup';\nconst b = lookup(1); // <-\n",
    ".tsx": "const a = <b c='lookup'>\nlookup\n{lookup(1)} // <-\n</b>;\n",
    ".go": 'package a\n// lookup\nfunc b() {\n\tlookup("x") // <-\n\tc("lookup", `lookup`)\n}\n',
    ".rs": '/// lookup\nfn a() {\n    lookup("x"); // <-\n    b("lookup", r"lookup"); /* lookup */\n}\n',
    ".java": '/** lookup */\nclass A {\n  void m() {\n    lookup(1); // <-\n    n("lookup");\n  }\n}\n',
    ".c": '#include <lookup>\n/* lookup */\nint a() {\n  b("lookup");\n  return lookup(1); // <-\n}\n',
    ".cpp": '// lookup\nint a() {\n  b("lookup", R"(lookup)");\n  return c::lookup(1); // <-\n}\n',
    ".cs": '/// lookup\nclass A {\n  void M() {\n    lookup(1); // <-\n    N("lookup", @"lookup");\n  }\n}\n',
    ".kt": '// lookup\nfun a() {\n  b("lookup")\n  c("${lookup(1)}") // <-\n}\n',
    ".swift": '/// lookup\nfunc a() {\n  b("lookup")\n  c("\\(lookup(1))") // <-\n}\n',
    ".scala": '// lookup\nobject A {\n  def b = "lookup"\n  def c = lookup(1) // <-\n}\n',
    ".hs": '-- lookup\na = "lookup"\nb = lookup 1 -- <-\n',
    ".zig": '// lookup\nconst a = "lookup";\nfn b() void {\n  lookup(1); // <-\n}\n',
    ".rb": "# lookup\na = 'lookup'\nb = lookup(1) # <-\nc = <<~E\n  lookup\nE\n",
    ".php": "<p>lookup</p>\n<?php // lookup\n$a = 'lookup';\n$b = lookup(1); // <-\n",
    ".lua": "-- lookup\na = 'lookup' .. [[lookup]]\nb = lookup(1) -- <-\n",
    ".sh": "# lookup\necho \"lookup\" 'lookup'\nlookup 1 # <-\n",
    ".ex": '# lookup\n@doc "lookup"\ndef a do\n  lookup(1) # <-\nend\n',
    ".groovy": '// lookup\ndef a = "lookup"\nlookup(1) // <-\n',
    ".md": "Calls lookup.\n",
    ".unknown": "lookup\n",
}


@pytest.mark.parametrize("suffix", MENTIONED)
def test_a_name_is_used_where_it_is_code(suffix):
    lines = MENTIONED[suffix].splitlines()
    marked = {number for number, line in enumerate(lines, 1) if "<-" in line}
    assert lines_with_name(f"a{suffix}", lines, "lookup") == marked


@pytest.mark.parametrize("suffix", [".py", ".go", ".rs", ".java", ".c", ".rb", ".php", ".lua", ".hs", ".zig"])
def test_without_time_for_a_grammar_no_use_outside_of_strings_is_lost(suffix):
    lines = MENTIONED[suffix].splitlines()
    marked = {number for number, line in enumerate(lines, 1) if "<-" in line}
    assert lines_with_name(f"a{suffix}", lines, "lookup", 0.0) >= marked


@pytest.mark.parametrize("seconds", [0.0, 1e-9])
def test_when_the_time_for_grammars_is_used_up_line_patterns_tell_who_uses_a_name(index, shop, monkeypatch, seconds):
    expected = find_uses(index.connection, shop, "roundMoney")
    monkeypatch.setattr("laguna_tui.repo.search.symbol_uses._PARSING_S", seconds)
    assert find_uses(index.connection, shop, "roundMoney") == expected != []


def test_every_language_is_asked_about():
    assert {LANGUAGE_OF[suffix] for suffix in MENTIONED if suffix in LANGUAGE_OF} == set(TAGS)


def test_the_users_of_a_name_come_with_what_they_are_in_and_tests_come_last(index, shop):
    found = find_uses(index.connection, shop, "roundMoney")
    assert [(use.path, use.line, use.symbol) for use in found] == [
        ("shop/cart.py", 3, ""),
        ("shop/cart.py", 14, "total_price"),
        ("shop/report.py", 3, ""),
        ("shop/report.py", 6, "monthly_report"),
    ]
    assert found[1].code == "return roundMoney(sum(self.prices.lookup(item) for item in self.items))"
    assert [use.path for use in find_uses(index.connection, shop, "ShoppingCart.total_price")] == [
        "shop/report.py",
        "tests/test_cart.py",
    ]


def test_a_changelog_and_a_comment_use_nothing(index, shop):
    write(shop, {"CHANGELOG.md": "roundMoney is new\n", "notes.py": "# roundMoney\ntext = 'roundMoney'\n"})
    index.refresh(workers=0)
    assert {use.path for use in find_uses(index.connection, shop, "roundMoney")} == {"shop/cart.py", "shop/report.py"}


@pytest.mark.parametrize("wanted", ["", "...", "::", "%", "no such name", "x" * 10_000, "\0"])
def test_an_odd_name_has_no_users(index, shop, wanted):
    assert find_uses(index.connection, shop, wanted) == []


def test_no_more_is_read_than_is_asked_for(index, shop):
    assert len(find_uses(index.connection, shop, "roundMoney", limit=1)) == 1
    assert find_uses(index.connection, shop, "roundMoney", should_stop=lambda: True) == []


def test_a_file_that_is_gone_uses_nothing(index, shop):
    (shop / "shop/report.py").unlink()
    assert {use.path for use in find_uses(index.connection, shop, "roundMoney")} == {"shop/cart.py"}
