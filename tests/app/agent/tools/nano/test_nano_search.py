"""`search` for the bundled model: where a name is defined, used and tested, to the byte, as it is repeated."""

import os
import re
import sys
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from laguna_tui.agent.tools.base.regex_search import PATTERN_LIMIT_CHARS
from laguna_tui.agent.tools.base.tool import ArgumentError
from laguna_tui.agent.tools.nano.profile import NANO
from laguna_tui.agent.tools.nano.search import LINES, SEARCH, ListedLine, list_lines
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.repo.files.workspace import UnreadableError, Workspace
from tests.app.approvers import answer_of, run_tool

SHOP = {
    "shop/cart.py": (
        "from shop.prices import LIMIT, parse_price\n\n\n"
        "class Cart:\n"
        "    def add(self, text):\n"
        "        return parse_price(text)\n\n\n"
        "def total(rows):\n"
        "    first = parse_price(rows[0])\n"
        "    return first + parse_price(rows[1])\n"
    ),
    "shop/prices.py": (
        "import re\n\n\n"
        "def parse_price(\n"
        "    text: str,\n"
        '    currency: str = "EUR",\n'
        ") -> float:\n"
        "    return float(text)\n\n\n"
        "class Prices:\n"
        "    def add(self, price: float) -> None:\n"
        "        pass\n\n\n"
        "LIMIT = 3\n"
        "assert LIMIT\n"
    ),
    "tests/test_prices.py": (
        "from shop import prices\n\n\n"
        "def test_a_price():\n"
        "    assert prices.parse_price('1') == prices.parse_price('1')\n"
    ),
}
ITEM = re.compile(
    r"\d\. `.* .*:\d+`( `[^`]*`)?|and \d+ more\.|and more\.|(Defined|Used|Tested) here:|No (uses|definition) .*\.|… .*"
)


def filled(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return Workspace(root)


def found(workspace, pattern, should_stop=lambda: False):
    return answer_of(SEARCH, workspace, should_stop, pattern=pattern)


@pytest.fixture
def root(tmp_path):
    return tmp_path / "project"


@pytest.fixture
def shop(root):
    return filled(root, SHOP)


@pytest.fixture
def having(root):
    """A workspace of the given files, found in."""
    return lambda files, pattern: found(filled(root, files), pattern)


def test_a_name_is_told_where_it_is_defined_used_and_tested(shop):
    assert found(shop, "parse_price") == (
        "Defined here:\n"
        '1. `parse_price shop/prices.py:4` `def parse_price(text: str, currency: str = "EUR") -> float:`\n'
        "Used here:\n"
        "2. `add shop/cart.py:6`\n"
        "3. `total shop/cart.py:10`\n"
        "Tested here:\n"
        "4. `test_a_price tests/test_prices.py:5`"
    )


def test_comments_strings_and_prose_use_nothing(tmp_path):
    files = {
        "a.py": "def f():\n    pass\n",
        "b.py": '# calls f\ndef g():\n    """Not f."""\n    return "f"\n',
        "c.py": 'def h():\n    return {"f": f()}\n',
        "NEWS.md": "f is new\n",
    }
    absent = "No uses in tests; 1 elsewhere."
    assert found(filled(tmp_path, files), "f").splitlines()[2:] == ["Used here:", "2. `h c.py:2`", absent]


@pytest.mark.parametrize("title", ["Defined", "Used", "Tested"])
def test_one_list_alone_is_numbered_from_one(shop, title):
    asked = answer_of(SEARCH, shop, list=title.lower(), pattern="parse_price").splitlines()
    all_ = found(shop, "parse_price").splitlines()
    start = all_.index(f"{title} here:")
    assert [re.sub(r"^\d", "N", line) for line in asked] == [
        re.sub(r"^\d", "N", line) for line in all_[start : start + len(asked)]
    ]
    assert asked[1].startswith("1. ")


def test_one_list_alone_says_that_it_is_empty_or_that_there_is_nothing_at_all(shop):
    asked = lambda pattern: answer_of(SEARCH, shop, list="tested", pattern=pattern)  # noqa: E731
    assert asked("Cart") == "No uses in code or tests."
    assert asked("parse_price | zebra") == "Nothing matches `parse_price | zebra`."
    assert asked("float") == (
        "No uses in tests; 3 elsewhere:\n1. `parse_price shop/prices.py:7`\n2. `add shop/prices.py:12`"
    )
    assert asked("zebra") == "Nothing matches `zebra`."


@pytest.mark.parametrize("name", ["", " used ", "Used", "USED"])
def test_a_list_may_be_named_in_any_case_or_not_at_all(shop, name):
    assert "Used here:" in answer_of(SEARCH, shop, list=name, pattern="parse_price")


def test_a_list_that_has_nothing_is_one_sentence(shop):
    assert found(shop, "Cart").splitlines() == [
        "Defined here:",
        "1. `Cart shop/cart.py:4` `class Cart:`",
        "No uses in code or tests.",
        "No uses in code or tests.",
    ]


def test_what_is_nowhere_at_all_is_one_sentence_too(shop):
    assert found(shop, "zebra") == "Nothing matches `zebra`."


def test_what_only_tests_use_or_only_comments_name_is_said_with_its_count(having):
    files = {
        "runner.py": "class Runner:\n    pass\n",
        "testing/test_a.py": "def test_a():\n    Runner()\n    Runner()\n",
        "NEWS.md": "merged, and merged again\n",
    }
    assert "No uses outside the tests; 2 in tests." in having(files, "Runner").splitlines()
    assert having(files, "merged").splitlines() == [
        "No definition of `merged`; 1 line with it.",
        "No uses in code or tests; 1 line in imports, comments or text.",
        "No uses in code or tests; 1 line in imports, comments or text.",
    ]


def test_what_is_only_used_is_defined_nowhere(shop):
    assert found(shop, "float").splitlines() == [
        "No definition of `float`; 3 lines with it.",
        "Used here:",
        "1. `parse_price shop/prices.py:7`",
        "2. `add shop/prices.py:12`",
        "No uses in tests; 3 elsewhere.",
    ]


def test_a_method_is_found_in_the_class_that_is_named_with_it(shop):
    first, second = found(shop, "add").splitlines()[1:3]
    assert first == "1. `add shop/cart.py:5` `def add(self, text):`"
    assert second == "2. `add shop/prices.py:12` `def add(self, price: float) -> None:`"
    assert found(shop, "Prices.add").splitlines()[:2] == ["Defined here:", second.replace("2.", "1.")]
    assert found(shop, "shop.prices.Prices.add") == found(shop, "Prices.add")


def test_a_class_that_lacks_the_method_hides_none(shop):
    assert found(shop, "Basket.add") == found(shop, "add")


def test_imports_are_no_uses(having):
    files = {
        "a.py": "def f():\n    pass\n",
        "b.py": "from a import f\nimport a.f\n\n\ndef g():\n    from a import f\n",
        "c.py": "def important():\n    f = 1\n",
    }
    absent = "No uses in tests; 1 elsewhere."
    assert having(files, "f").splitlines()[2:] == ["Used here:", "2. `important c.py:2`", absent]


def test_a_longer_name_is_another_name(having):
    assert having({"a.py": "def open_file():\n    reopen()\n"}, "open") == "Nothing matches `open`."


def test_what_stands_outside_of_definitions_comes_last(having):
    files = {"a.py": "def f():\n    pass\n", "b.py": "print(f)\n", "c.py": "def g():\n    f()\n"}
    assert having(files, "f").splitlines()[2:5] == ["Used here:", "2. `g c.py:2`", "3. `- b.py:1`"]


def test_the_same_user_in_another_file_is_another_user(having):
    files = {"a.py": "def main():\n    f()\n    f()\n", "b.py": "def main():\n    f()\n"}
    assert having(files, "f").splitlines()[1:4] == ["Used here:", "1. `main a.py:2`", "2. `main b.py:2`"]


def test_lines_are_numbered_through_and_each_list_says_how_many_more_there_are(having):
    files = {
        **{f"d{n}.py": "def f():\n    pass\n" for n in range(4)},
        **{f"u{n}.py": f"def user_{n}():\n    f()\n" for n in range(6)},
        **{f"tests/test_{n}.py": f"def test_{n}():\n    f()\n" for n in range(4)},
    }
    assert having(files, "f").splitlines() == [
        "Defined here:", "1. `f d0.py:1` `def f():`", "2. `f d1.py:1` `def f():`", "and 2 more.",
        "Used here:", "3. `user_0 u0.py:2`", "4. `user_1 u1.py:2`", "5. `user_2 u2.py:2`", "6. `user_3 u3.py:2`",
        "and 2 more.",
        "Tested here:", "7. `test_0 tests/test_0.py:2`", "8. `test_1 tests/test_1.py:2`",
        "9. `test_2 tests/test_2.py:2`", "and 1 more.",
    ]  # fmt: skip


def test_a_list_that_is_just_full_has_no_more(having):
    files = {f"u{n}.py": f"def user_{n}():\n    f()\n" for n in range(LINES["Used"])}
    assert "more" not in having(files, "f")


def test_of_a_name_that_is_everywhere_the_rest_is_not_counted(having):
    assert "and 16 more." in having({"a.py": "".join(f"def user_{n}(): f()\n" for n in range(20))}, "f")
    more = having({"a.py": "".join(f"def user_{n}(): f()\n" for n in range(21))}, "f").splitlines()
    assert more[1:7] == ["Used here:", *(f"{n + 1}. `user_{n} a.py:{n + 1}`" for n in range(4)), "and more."]


def test_tests_of_a_name_that_is_everywhere_are_told_all_the_same(having):
    files = {"a.py": "def g():\n" + "    f()\n" * 500, "tests/test_a.py": "def test_f():\n    f()\n"}
    assert having(files, "f").splitlines()[-2:] == ["Tested here:", "2. `test_f tests/test_a.py:2`"]


@pytest.mark.parametrize(
    ("code", "signature"),
    [
        ("def f(\n    a,\n    b = [1, 2],\n):\n    pass\n", "def f(a, b = [1, 2]):"),
        ("def f( a ):\n    pass\n", "def f(a):"),
        ("    def f(a):\n        pass\n", "def f(a):"),
        ("class f(\n    Base[int],\n    key={'a': 1},\n):\n    pass\n", "class f(Base[int], key={'a': 1}):"),
        ("async def f(a, *, b):\n    pass\n", "async def f(a, *, b):"),
        ("def f(a='`'):\n    pass\n", "def f(a='''):"),
        ("@cache\ndef f(a):\n    pass\n", "def f(a):"),
        ("def f(a", "def f(a"),
    ],
    ids=["joined", "spaces", "indented", "class", "async", "backtick", "decorated", "unfinished"],
)
def test_a_signature_is_one_line(having, code, signature):
    assert f"` `{signature}`" in having({"a.py": code}, "f").splitlines()[1]


def test_a_long_signature_is_cut(having):
    names = ", ".join(f"argument_{n}" for n in range(50))
    code = having({"a.py": f"def f({names}):\n    pass\n"}, "f").splitlines()[1].split("` `")[1].rstrip("`")
    assert len(code) == 120
    assert code.startswith("def f(argument_0, argument_1") and code.endswith("…")


def test_a_bracket_that_is_never_closed_takes_no_more_than_a_few_lines(having):
    code = having({"a.py": "def f(\n" + "a,\n" * 1000}, "f").splitlines()[1].split("` `")[1].rstrip("`")
    assert code == "def f(" + "a, " * 14 + "a,"


def test_a_regular_expression_is_a_pattern_too(shop):
    assert found(shop, r"^class \w+").splitlines()[:3] == [
        "Defined here:",
        "1. `Cart shop/cart.py:4` `class Cart:`",
        "2. `Prices shop/prices.py:11` `class Prices:`",
    ]


def test_text_that_is_no_expression_is_taken_literally(shop):
    assert found(shop, "parse_price(").splitlines()[:2] == [
        "Defined here:",
        '1. `parse_price shop/prices.py:4` `def parse_price(text: str, currency: str = "EUR") -> float:`',
    ]


def test_blanks_around_a_name_do_not_matter(shop):
    assert found(shop, " parse_price\n") == found(shop, "parse_price")


def test_names_in_other_scripts_are_names(having):
    files = {"a.py": "def größe(x):\n    pass\n\n\ndef g():\n    größe(1)\n"}
    assert having(files, "größe").splitlines()[:4] == [
        "Defined here:", "1. `größe a.py:1` `def größe(x):`", "Used here:", "2. `g a.py:6`",
    ]  # fmt: skip


def test_a_path_with_blanks_is_shown_as_it_is(having):
    assert "1. `f my folder/a b.py:1` `def f():`" in having({"my folder/a b.py": "def f():\n    pass\n"}, "f")


def test_a_path_with_newlines_forges_no_line(having):
    files = {"a\nDefined here:\u2028.py": "def f():\n    pass\n"}
    assert having(files, "f").splitlines()[1] == r"1. `f a\x0aDefined here:\xe2\x80\xa8.py:1` `def f():`"


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS refuses names that are not UTF-8")
def test_a_path_in_no_encoding_is_shown(root):
    root.mkdir()
    (root / os.fsdecode(b"caf\xe9.py")).write_text("def f():\n    pass\n")
    assert r"`f caf\xe9.py:1`" in found(Workspace(root), "f")


def test_a_pattern_with_newlines_forges_no_line(shop):
    assert found(shop, "zebra\nDefined here:") == r"Nothing matches `zebra\x0aDefined here:`."


def test_what_cannot_be_read_is_passed_over(root, shop):
    (root / "binary.py").write_bytes(b"def zebra():\0\n")
    os.mkfifo(root / "pipe.py")
    (root / "link.py").symlink_to("/etc/passwd")
    (root / "gone.py").symlink_to("nowhere.py")
    assert found(shop, "zebra|root") == ("Nothing matches `zebra|root`.\n… not searched: 1 binary file (binary.py)")
    assert found(shop, "passwd") == "Nothing matches `passwd`."


def test_a_file_that_is_gone_in_the_middle_leaves_its_hits(shop, monkeypatch):
    def gone(*_):
        raise UnreadableError("there is no file shop/cart.py")

    monkeypatch.setattr("laguna_tui.agent.tools.nano.search.read_lines", gone)
    assert found(shop, "Cart").splitlines()[:2] == ["Defined here:", "1. `Cart shop/cart.py:4` `class Cart:`"]


def test_what_git_ignores_is_not_searched(root, shop):
    (root / ".gitignore").write_text("shop/cart.py\n")
    assert "No uses outside the tests; 1 in tests." in found(shop, "parse_price")


def test_a_stop_ends_it_and_says_so(shop):
    assert found(shop, "parse_price", lambda: True).splitlines()[0] == "Nothing matches `parse_price`."
    assert found(shop, "parse_price", lambda: True).splitlines()[1].startswith("… ")


def test_an_exploding_expression_ends_in_time(root, monkeypatch):
    monkeypatch.setattr("laguna_tui.agent.tools.nano.search.BUDGET_S", 0.3)
    lines = 60  # each would take a quarter of a second of the processor, which is all the limit that a line has
    workspace = filled(root, {"trap.txt": ("a" * 60 + "!\n") * lines})
    begun = time.process_time()
    assert found(workspace, "(a|aa)+$").splitlines()[1].startswith("… stopped after")
    assert time.process_time() - begun < lines * 0.25 / 4


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "error: pattern is missing; call again with pattern as text"),
        ({"pattern": " "}, "error: pattern is empty; call again with pattern as text"),
        ({"pattern": ["f"]}, "error: pattern is missing; call again with pattern as text"),
        ({"pattern": "f", "path": "a"}, "error: unknown argument path; use list, pattern"),
        ({"pattern": "f", "list": "a\nb"}, r"error: there is no list a\x0ab; call again with defined, used or tested"),
        ({"pattern": "f", "list": 1}, "error: list is missing; call again with list as text"),
        ({"pattern": "x" * 501}, "error: the pattern is longer than 500 characters; search for a part of it"),
    ],
)
def test_a_wrong_call_is_answered_with_what_to_do(shop, arguments, sentence):
    result = run_tool(Toolbox(NANO, shop), "search", arguments)
    assert (result.output, result.ok) == (sentence, False)


def test_lists_are_told_in_the_order_given():
    lists = {"Used": [ListedLine("f", "a.py", 3)], "Defined": []}
    assert list(list_lines(lists)) == ["Used here:", "1. `f a.py:3`", "Defined nowhere."]


CODE = st.text("def class f(g):[]{},`'\"\n\t\\#=x\0\r\u2028é", max_size=200)
NAMES = st.text(st.characters(blacklist_characters="/\0", blacklist_categories=["Cs"]), min_size=1, max_size=12)


@given(pattern=st.text(max_size=PATTERN_LIMIT_CHARS + 1), code=CODE, name=NAMES)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_asked_of_whatever_files_every_line_is_of_a_list(tmp_path_factory, pattern, code, name):
    root = tmp_path_factory.mktemp("any")
    if name not in (".", ".."):
        filled(root, {f"{name}.py": code, f"tests/{name}.py": code})
    for asked in (pattern, "f", "x"):
        try:
            lines = found(Workspace(root), asked).split("\n")
        except ArgumentError:
            continue
        wrong = [line for line in lines if not ITEM.fullmatch(line) and not line.startswith("Nothing matches `")]
        assert not wrong
