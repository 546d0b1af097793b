"""Files cut into what may be left out: outlines, statements, paragraphs; and the names each piece has and uses."""

import pytest

from laguna_tui.context.compression.spans import SpanRole
from laguna_tui.context.compression.splitting import LINE_CHARS, document

PYTHON = '''\
"""What it is for."""

import os
from shop.prices import (
    round_money,
    Price,
)

LIMIT = 3
TABLE = {
    "a": 1,
    "b": 2,
    "c": LIMIT,
    "d": 4,
}


class Cart(Base):
    """Things to buy.

    Until they are paid.
    """

    owner: str

    def __init__(self, owner):
        self.owner = owner

    @property
    def total(self) -> int:
        """The sum."""
        values = [round_money(item) for item in self.items()]
        return sum(values)

    def items(self):
        return os.listdir(self.owner)
'''


def spans(cut, role=None):
    return [cut.text[span.start : span.stop] for span in cut.spans if role in (None, span.role)]


def unit(cut, name):
    return next(unit for unit in cut.units if unit.name == name)


def test_heads_and_imports_are_the_outline():
    assert spans(document("cart.py", PYTHON), SpanRole.OUTLINE) == [
        "import os\nfrom shop.prices import (\n    round_money,\n    Price,\n)\n",
        "TABLE = {\n",
        'class Cart(Base):\n    """Things to buy.\n',
        "    def __init__(self, owner):\n",
        '    @property\n    def total(self) -> int:\n        """The sum."""\n',
        "    def items(self):\n",
    ]


def test_what_is_outside_of_definitions_is_text():
    assert spans(document("cart.py", PYTHON), SpanRole.TEXT) == ['"""What it is for."""\n']


def test_a_unit_knows_its_lines_and_names():
    cut = document("cart.py", PYTHON)
    total = unit(cut, "Cart.total")
    assert (total.line, total.end) == (29, 33)
    assert total.defines == {"total", "Cart.total"}
    assert unit(cut, "LIMIT").defines == {"LIMIT"}


def test_a_constructor_answers_to_the_name_of_its_class():
    assert "Cart" in unit(document("cart.py", PYTHON), "Cart.__init__").defines


def test_what_is_called_on_the_object_itself_is_the_class_s_own():
    total = unit(document("cart.py", PYTHON), "Cart.total")
    assert {"Cart.items", "round_money"} <= total.refers
    assert not {"items", "sum", "values"} & total.refers


INHERITING = """\
class Shelf(Store, dict):
    def total(self):
        self.counted()
        return self.first() + super().total()

    def first(self):
        return 1


class Drawer(Shelf):
    def all_of_it(self):
        return self.first() + self.counted()
"""


def test_what_its_class_has_not_may_be_of_any_class_inherited_from_here_or_elsewhere():
    file = document("shelf.py", INHERITING)
    total = unit(file, "Shelf.total").refers
    assert {"Shelf.first", "counted", "Store.counted", "dict.counted", "Store.total"} <= total
    assert not {"first", "Store.first", "Shelf.total"} & total
    assert {"Shelf.first", "Store.first", "Shelf.counted", "Store.counted"} <= unit(file, "Drawer.all_of_it").refers


def test_methods_lie_in_their_class():
    cut = document("cart.py", PYTHON)
    names = [unit.name for unit in cut.units]
    assert cut.outer[names.index("Cart.total")] == names.index("Cart")


def test_long_bodies_are_cut_between_statements():
    body = "".join(f"    if flag{n}:\n        first({n})\n        second({n})\n" for n in range(20))
    pieces = spans(document("a.py", f"def long():\n{body}"), SpanRole.BODY)
    assert len(pieces) > 5
    assert all(piece.startswith("    if flag") for piece in pieces)


def test_conditions_and_calls_over_several_lines_are_not_cut():
    condition = (
        "    if (\n" + "".join(f"        first[{n}] == second[{n}] and\n" for n in range(12)) + "        True\n    ):\n"
    )
    block = "".join(f"        step_{n}(first)\n" for n in range(30))
    call = "    report(\n" + "".join(f"        first[{n}],\n" for n in range(20)) + "    )\n"
    made = document("a.py", f"def judge(first, second):\n{condition}{block}{call}    return 1\n")
    pieces = [made.text[span.start : span.stop] for span in made.spans]
    assert condition in pieces
    assert call in pieces
    assert len(pieces) > 5


def test_strings_over_several_lines_are_no_statements():
    text = 'def long():\n    text = """\nzero = 0\n' + "one = 1\n" * 4 + '"""\n    return text\n'
    assert not [piece for piece in spans(document("a.py", text)) if piece.startswith("one")]


@pytest.mark.parametrize(
    ("path", "text", "outline"),
    [
        ("a.go", "// Add adds.\nfunc Add(a int) int {\n\treturn a\n}\n", "// Add adds.\nfunc Add(a int) int {\n"),
        ("a.rs", "#[inline]\nfn add(a: i32)\n    -> i32\n{\n    a\n}\n", "#[inline]\nfn add(a: i32)\n    -> i32\n{\n"),
        ("a.js", "export function add(a) {\n  return a;\n}\n", "export function add(a) {\n"),
        ("a.rb", "def add(a)\n  a\nend\n", "def add(a)\n"),
    ],
)
def test_other_languages_have_outlines_too(path, text, outline):
    assert spans(document(path, text), SpanRole.OUTLINE) == [outline]


def test_sections_are_named_by_their_headings():
    cut = document("a.md", "# One\n\ntext\n\n## Two\n\nmore\n")
    assert [unit.name for unit in cut.units] == ["One", "Two"]


def test_settings_are_found_by_their_keys():
    cut = document("a.yaml", "server:\n  port_number: 80\n  host-name: x\n")
    assert {"port_number", "host-name"} <= cut.units[0].defines


def test_lines_that_nobody_writes_are_cut_at_commas():
    cut = document("a.json", "[" + ",".join(f'{{"k{n}":{n}}}' for n in range(1000)) + "]")
    pieces = spans(cut)
    assert "".join(pieces) == cut.text
    assert max(map(len, pieces)) < LINE_CHARS
    assert all(piece.endswith((",", "]", "}")) for piece in pieces)


def test_definitions_of_one_long_line_are_units_of_their_own_beside_each_other():
    functions = [f"function f{n}(a,b){{return a*{n}+b.call(x{n})}};" for n in range(200)]
    cut = document("min.js", "".join(functions))
    assert "".join(spans(cut)) == cut.text
    assert not spans(cut, SpanRole.OUTLINE)
    assert set(cut.outer) == {None}
    for number, function in enumerate(functions):
        holding = [unit for unit, one in enumerate(cut.units) if f"f{number}" in one.defines]
        assert len(holding) == 1
        assert function in "".join(cut.text[span.start : span.stop] for span in cut.spans if span.unit in holding)


def test_a_long_line_is_not_all_of_it_the_outline_of_a_definition():
    cut = document("a.js", "function wide(" + ",".join(f"argument_{n}" for n in range(500)) + "){return 1}\n")
    assert len(spans(cut, SpanRole.OUTLINE)) == 1
    assert len(spans(cut)) > 5


def test_odd_names_are_shown_as_the_read_tool_takes_them():
    assert document("a\nb.py", "x = 1\n").path == "a\\x0ab.py"
