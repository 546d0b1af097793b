"""The questions of the evals are what they claim to be: the answer is in the code, and the question is not."""

import pytest

from tests.evals.golds import commits, defined, definitions, stripped, symbols, uncommented
from tests.evals.retrieval import interval, ndcg

MODULE = '''"""Sells things to people who want them."""

class Shop:
    """A place where things are sold."""

    def sell(self, thing):
        """Hand a thing over for money.

        Returns what is left.
        """
        return self.stock - thing

    def close(self):
        """Short."""
'''


def test_docstrings_are_questions_and_no_longer_in_the_code():
    code, found = stripped(MODULE)
    assert found == [(3, "Shop", "A place where things are sold."), (6, "sell", "Hand a thing over for money.")]
    assert "money" not in code
    assert "Sells" not in code
    compile(code, "module", "exec")
    assert code.count("\n") == MODULE.count("\n")


@pytest.mark.parametrize(
    ("suffix", "text", "name"),
    [
        (".rs", "/// Hand a thing over for money.\n#[inline]\npub fn sell(thing: u32) -> u32 {\n", "sell"),
        (
            ".java",
            "/**\n * Hand a thing over for money. And more.\n */\n@Override\n  public int sell(int thing) {\n",
            "sell",
        ),
        (".rb", "# Hand a thing over for money.\ndef self.sell(thing)\n", "sell"),
        (".ts", "// Hand a thing over for money.\nexport const sell = (thing: Thing) => {\n", "sell"),
        (".sh", "# Hand a thing over for money.\nsell() {\n", "sell"),
    ],
)
def test_comments_before_definitions_are_questions_and_no_longer_in_the_code(suffix, text, name):
    code, found = uncommented(text, suffix)
    assert [(defined_name, said) for _, defined_name, said in found] == [(name, "Hand a thing over for money.")]
    assert name in code.split("\n")[found[0][0] - 1]
    assert "money" not in code


def test_what_only_looks_like_a_definition_is_none():
    assert not defined("    if (ready) {", ".java")
    assert not defined("    return sell(thing)", ".c")
    assert not defined("    useEffect( () => {", ".js")
    assert not defined("    boot(function manage (err, done) {", ".js")
    assert not defined("        object key = thing ?? other.Key;", ".cs")
    assert not defined("static struct Module shop_module = {", ".c")


def test_definitions_of_tests_are_never_asked_for(tmp_path):
    for path in ("source/shop.py", "source/tests/test_shop.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(MODULE)
    golds = definitions(tmp_path / "source", tmp_path / "target")
    assert {path for gold in golds for path, _ in gold.answers} == {"shop.py"}
    assert (tmp_path / "target/tests/test_shop.py").is_file()
    text = (tmp_path / "target/shop.py").read_text()
    assert all(text[at:].startswith(("Shop", "sell")) for gold in golds for _, at in gold.answers)


def test_only_names_that_are_defined_once_are_asked_for(tmp_path):
    (tmp_path / "a.py").write_text("def sell_one(): pass\ndef close(): pass\n")
    (tmp_path / "b.py").write_text("def close(): pass\n")
    assert [gold.answers for gold in symbols(tmp_path)] == [{("a.py", 4)}]


@pytest.mark.parametrize(
    "second",
    [
        {"b.js": "export const Sellone = 3;\n"},
        {"b.cc": "int Shop::sellOne(\n    int thing) {\n"},
        {"b.kt": "    external override fun sellOne(thing: Int): Int\n"},
        {"b.mm": "- (void)sellOne:(int)thing {\n"},
        {"b.h": "#define SELL_ONE 1\n"},
    ],
)
def test_a_name_that_may_be_defined_elsewhere_in_another_spelling_is_not_asked_for(tmp_path, second):
    from tests.app.repo.conftest import write

    write(tmp_path, {"a.py": "def sell_one(): pass\n", **second})
    assert symbols(tmp_path) == []


def test_examples_in_docstrings_are_not_asked_for(tmp_path):
    (tmp_path / "a.py").write_text('def sell_one():\n    """Use it.\n\n    def reverse(): pass\n    """\n')
    assert [gold.answers for gold in symbols(tmp_path)] == [{("a.py", 4)}]


def test_calls_and_variables_are_no_second_definitions_and_what_is_built_is_no_source(tmp_path):
    from tests.app.repo.conftest import write

    write(
        tmp_path,
        {
            "a.js": "function sellOne(thing) {\n  let sold = sellOne(thing);\n  return sellOne(sold);\n}\n",
            "dist/a.js": "function sellOne(thing) {\n",
            "a.min.js": "function sellOne(thing) {\n",
        },
    )
    assert [gold.answers for gold in symbols(tmp_path)] == [{("a.js", 9)}]


def test_a_commit_asks_for_the_files_that_it_changed_in_the_state_before_it(shop):
    from tests.app.repo.conftest import git, write

    git(shop, "add", ".")
    git(shop, "commit", "-qm", "Begin with a whole shop")
    write(shop, {"shop/cart.py": "class ShoppingCart: pass\n"})
    write(shop, {"tests/test_cart.py": ""})
    git(shop, "commit", "-qam", "Let a cart be empty")
    [(revision, gold)] = commits(shop, "HEAD", 10)
    assert revision.endswith("^")
    assert gold == ("Let a cart be empty", {("shop/cart.py", -1)})


def test_figures_of_a_ranking():
    assert ndcg([True, False], 1) == 1.0
    assert ndcg([False, True], 1) == pytest.approx(0.631, abs=1e-3)
    assert ndcg([False] * 12, 3) == 0.0
    mean, low, high = interval([0.0, 1.0] * 200)
    assert mean == 0.5
    assert 0.4 < low < 0.5 < high < 0.6
