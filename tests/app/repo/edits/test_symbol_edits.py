"""A definition is replaced by its name: all of it, indented to its place, and nothing else."""

import pytest

from laguna_tui.repo.edits.file_changes import apply_change
from laguna_tui.repo.edits.symbol_edits import propose_symbol
from laguna_tui.repo.files.workspace import Workspace, WorkspaceError

CART = '''import math


class Cart:
    """Holds items."""

    def __init__(self):
        self.items = []

    # Taxes are included.
    @property
    def total(self):
        return sum(self.items)

    def clear(self):
        self.items = []


class Wish:
    def clear(self):
        pass


def total(items):
    return sum(items)
'''


@pytest.fixture
def workspace(tmp_path):
    return Workspace(tmp_path)


@pytest.fixture
def replaced(workspace):
    """Write a file, replace a definition in it, and return its text afterwards."""

    def replace(path, text, symbol, new):
        (workspace.root / path).write_bytes(text.encode())
        apply_change(propose_symbol(workspace, path, symbol, new))
        return (workspace.root / path).read_bytes().decode()

    return replace


@pytest.fixture
def refused(workspace):
    def refuse(path, text, symbol, new="def f(): pass"):
        (workspace.root / path).write_bytes(text.encode())
        with pytest.raises(WorkspaceError) as caught:
            propose_symbol(workspace, path, symbol, new)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return refuse


def test_a_function_is_replaced_and_everything_around_it_stays(replaced):
    after = replaced("cart.py", CART, "total", "def total(items, rate):\n    return sum(items) * rate\n")
    assert after == CART.replace(
        "def total(items):\n    return sum(items)", "def total(items, rate):\n    return sum(items) * rate"
    )


@pytest.mark.parametrize(
    "symbol", ["Cart.clear", "Cart::clear", "Cart#clear", "Cart.clear()", "def Cart.clear", "clear:15"]
)
@pytest.mark.parametrize(
    "new",
    [
        "def clear(self):\n    self.items.clear()\n",
        "    def clear(self):\n        self.items.clear()\n",
        "def clear(self):\n        self.items.clear()",
        "\tdef clear(self):\n\t\tself.items.clear()\n",
        "\n\ndef clear(self):\n    self.items.clear()\n\n\n",
        "def clear(self):\r\n    self.items.clear()\r\n",
    ],
)
def test_a_method_is_found_and_indented_however_it_is_written(replaced, symbol, new):
    after = replaced("cart.py", CART, symbol, new)
    assert after == CART.replace("        self.items = []\n\n\nclass", "        self.items.clear()\n\n\nclass")


def test_decorators_and_comments_before_it_belong_to_a_definition(replaced, workspace):
    new = "@cached_property\ndef total(self):\n    return 0"
    assert "    @cached_property\n    def total(self):\n        return 0\n" in replaced(
        "cart.py", CART, "Cart.total", new
    )
    (workspace.root / "cart.py").write_text(CART)
    kept = propose_symbol(workspace, "cart.py", "Cart.total", new)
    lost = propose_symbol(workspace, "cart.py", "Cart.total", "def total(self):\n    return 0")
    assert "Taxes" not in kept.after and "@property" not in lost.after
    assert kept.notes == ()
    assert "right before total were replaced with it" in lost.notes[0]


def test_what_several_have_as_their_name_names_them_with_their_lines(refused):
    assert refused("cart.py", CART, "clear") == (
        "clear is 2 definitions in cart.py; call again with one of them: Cart.clear:15, Wish.clear:20"
    )


def test_of_several_in_one_line_none_can_be_named(refused):
    text = "class A { get x(){return 1} set x(v){} }\n"
    for symbol in ("x", "A.x", "A.x:1"):
        assert "some of them in one line; call edit with old and new text" in refused("a.js", text, symbol)


def test_a_whole_name_is_no_others(replaced):
    """`total` is the function, although `Cart.total` ends so."""
    assert "class Cart" in replaced("cart.py", CART, "total", "def total():\n    pass")


def test_a_name_that_is_not_there_is_answered_with_the_nearest(refused):
    assert "the nearest is Cart.total:12" in refused("cart.py", CART, "Cart.totl")
    assert "the nearest is Cart.clear:15" in refused("cart.py", CART, "Basket.clear")
    assert "read it first" in refused("cart.py", CART, "zzz")
    assert "call edit" in refused("notes.txt", "total\n", "total")


@pytest.mark.parametrize(
    ("new", "sentence"), [("", "new is empty"), (" \n", "new is empty"), ("def f():\0", "NUL"), ("\ud800", "U+D800")]
)
def test_texts_that_are_no_definition_are_refused(refused, new, sentence):
    assert sentence in refused("cart.py", CART, "total", new)


@pytest.mark.parametrize("symbol", ["", "\0", "a" * 1000, "(((", "::", "\ud800", ":0", "total:999999999"])
def test_names_that_are_none_are_refused(refused, symbol):
    assert refused("cart.py", CART, symbol)


@pytest.mark.parametrize("line_break", ["\r\n", "\r"])
def test_line_breaks_are_the_files(replaced, line_break):
    after = replaced("cart.py", CART.replace("\n", line_break), "Cart.clear", "def clear(self):\n    pass")
    assert f"def clear(self):{line_break}        pass{line_break}" in after
    assert after.count("\n") in (0, after.count("\r\n"))


def test_a_string_over_several_lines_keeps_its_text(replaced):
    new = 'def clear(self):\n    """Says it.\n\n    Twice.\n    """\n    print("""one\ntwo\n  three""")'
    after = replaced("cart.py", CART, "Cart.clear", new)
    assert '        print("""one\ntwo\n  three""")\n' in after
    assert '        """Says it.\n\n        Twice.\n        """\n' in after


def test_blanks_become_tabs_where_the_file_has_tabs(replaced):
    go = "package a\n\n// Total sums.\nfunc (c *Cart) Total() int {\n\treturn 1\n}\n"
    new = "// Total adds.\nfunc (c *Cart) Total() int {\n    if c == nil {\n        return 0\n    }\n    return 2\n}\n"
    assert replaced("a.go", go, "(*Cart).Total", new) == (
        "package a\n\n// Total adds.\nfunc (c *Cart) Total() int {\n\tif c == nil {\n\t\treturn 0\n\t}\n\treturn 2\n}\n"
    )


OTHERS = [
    (
        "a.ts",
        "export class Cart {\n  total(): number {\n    return 1;\n  }\n"
        "  add = (n: number) => {\n    return n;\n  };\n}\n",
        "Cart.add",
        "add = (n: number) => {\n  return n + 1;\n};",
        "  add = (n: number) => {\n    return n + 1;\n  };\n}\n",
    ),
    (
        "b.ts",
        "export const f = () => {\n  return 1;\n};\nconst g = 2;\n",
        "f",
        "export const f = () => 2;",
        "export const f = () => 2;\nconst g = 2;\n",
    ),
    (
        "a.rs",
        "impl Cart {\n    /// Sum.\n    #[inline]\n    pub fn total(&self) -> u8 {\n        1\n    }\n}\n",
        "Cart::total",
        "/// Sum.\npub fn total(&self) -> u8 {\n    2\n}",
        "impl Cart {\n    /// Sum.\n    pub fn total(&self) -> u8 {\n        2\n    }\n}\n",
    ),
    (
        "A.java",
        "class Cart {\n    @Override\n    int total() {\n        return 1;\n    }\n}\n",
        "Cart.total",
        "@Override\nint total() {\n    return 2;\n}",
        "class Cart {\n    @Override\n    int total() {\n        return 2;\n    }\n}\n",
    ),
    (
        "a.cpp",
        "int Cart::total() {\n  return 1;\n}\n",
        "Cart::total",
        "int Cart::total() {\n  return 2;\n}",
        "int Cart::total() {\n  return 2;\n}\n",
    ),
    (
        "a.rb",
        "class Cart\n  def total\n    1\n  end\nend\n",
        "total",
        "def total\n  2\nend",
        "class Cart\n  def total\n    2\n  end\nend\n",
    ),
    (
        "c.js",
        "module.exports = {\n  add: function () {\n    return 1;\n  },\n};\n",
        "add",
        "add: function () {\n    return 2;\n  },",
        "module.exports = {\n  add: function () {\n    return 2;\n  },\n};\n",
    ),
]


@pytest.mark.parametrize(("path", "text", "symbol", "new", "end"), OTHERS)
def test_other_languages(replaced, path, text, symbol, new, end):
    assert replaced(path, text, symbol, new).endswith(end)


def test_what_is_defined_together_with_something_else_is_refused(refused):
    assert "defined together with b" in refused("a.js", "const a = 1, b = 2;\n", "a", "const a = 3;")


def test_a_definition_that_breaks_the_file_warns_the_user(workspace):
    (workspace.root / "cart.py").write_text(CART)
    proposal = propose_symbol(workspace, "cart.py", "Cart.clear", "def clear(self:\n    pass")
    assert "syntax error: line 15" in proposal.warning


def test_replacing_a_definition_by_itself_is_refused(refused):
    assert "nothing would change" in refused("cart.py", CART, "total", "def total(items):\n    return sum(items)")
