"""Definitions named by a question come first, at any budget, in any process, and for names with many definitions."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laguna_tui.context.compression.boosts import CALLED, is_code
from laguna_tui.context.compression.candidates import Phase, phase_of
from laguna_tui.context.compression.compressor import compress
from laguna_tui.context.compression.definitions import Definitions, named_files
from laguna_tui.context.compression.elision import marker
from laguna_tui.context.compression.relevance import rank
from laguna_tui.context.compression.result import Why
from laguna_tui.context.compression.spans import Document, Span, SpanRole, SpanUnit
from laguna_tui.context.compression.splitting import document
from tests.app.context.compression.paragraphs import cut, filler, letters

STEPS = "".join(f"def step_{n}(state):\n    state.value += {n}\n    return state\n\n" for n in range(400))


def find(documents, query):
    """The boosts of units."""
    return rank(documents, query, None, lambda: False).boosts.units


def kept_units(result):
    return {part.document.units[kept.span.unit].name for part in result.parts for kept in part.kept}


@pytest.mark.parametrize("budget", range(0, 120, 4))
def test_what_nobody_asked_for_never_stands_alone_where_the_answer_does_not_fit(budget):
    result = compress([cut("steps.py", STEPS)], "What does step_123 do?", budget, letters)
    shown = kept_units(result)
    assert not shown or "step_123" in shown
    assert any("step_123, which the question names" in note for note in result.notes) is not bool(shown)


def test_a_named_definition_that_is_too_long_shows_its_signature_before_anything_else():
    long = "def wanted_one(x):\n" + "".join(f"    x = change_number_{n}(x)\n" for n in range(200)) + "\n"
    document = cut("a.py", filler(40) + long + filler(40, "more"))
    result = compress([document], "What does wanted_one return?", 60, letters)
    assert "def wanted_one(x):" in result.text
    assert Why.NAMED in {kept.why for kept in result.parts[0].kept}


def test_of_both_definitions_of_a_name_at_least_the_signatures_come_before_what_nobody_asked_for():
    lines = "".join(f"    check_number_{n}\n" for n in range(40))
    pair = "".join(f"def port(self{n}):\n{lines}\n" for n in range(2))
    document = cut("a.py", filler(40) + pair + filler(40, "more"))
    for room in range(80, 400, 20):
        kept = compress([document], "which value has the `port`?", room, letters).parts[0].kept
        heads = [one for one in kept if one.why is Why.NAMED and one.span.role is SpanRole.OUTLINE]
        assert Why.OUTLINE not in {one.why for one in kept} or len(heads) == 2


@pytest.mark.parametrize("budget", range(20, 200, 10))
def test_what_the_answer_uses_does_not_stand_without_it(budget):
    wanted = (
        "def wanted_one(first_argument_of_it, second_argument_of_it):\n    return tiny_one(first_argument_of_it)\n\n"
    )
    document = cut("a.py", filler(20) + wanted + filler(20, "more") + "def tiny_one(x):\n    return x\n\n")
    shown = kept_units(compress([document], "What does `wanted_one` do?", budget, letters))
    assert "tiny_one" not in shown or "wanted_one" in shown


def test_who_asks_for_a_method_gets_it_before_the_rest_of_its_class():
    lines = "".join(f"    self.change_{n}()\n" for n in range(14))
    methods = "".join(f"def method_{n}(self):\n{lines if n == 3 else '    pass'}\n" for n in range(6))
    text = f"class Wanted:\n    kind = 1\n{methods}"
    heads = [match.start() for match in re.finditer("class|def", text)]
    ends = [*heads[1:], len(text)]
    names = ["Wanted", *(f"Wanted.method_{n}" for n in range(6))]
    spans, units = [], []
    for number, (start, stop, name) in enumerate(zip(heads, ends, names, strict=True)):
        body = text.index("\n", start) + 1
        spans += [Span(start, body, SpanRole.OUTLINE, number), Span(body, stop, SpanRole.BODY, number)]
        line, end = text.count("\n", 0, start) + 1, text.count("\n", 0, stop)
        units.append(
            SpanUnit(
                name, frozenset({name, name.split(".")[-1]}), frozenset(), line, end if number else text.count("\n")
            )
        )
    filling = cut("b.py", filler(200))
    document = Document("a.py", text, tuple(spans), tuple(units))
    for budget in range(30, 300, 10):
        result = compress([document, filling], "What does `Wanted.method_3` do?", budget, letters)
        assert not kept_units(result) or "Wanted.method_3" in kept_units(result)


@pytest.mark.parametrize("share", [0.95, 0.8, 0.6])
def test_a_named_definition_is_whole_wherever_it_fits(share):
    wanted = "def wanted_one(x):\n" + "".join(f"    x = change_{n}(x)\n" for n in range(120))
    text = "".join(f"def change_{n}(x):\n    return x + {n}\n\n" for n in range(120))
    files = [document("a.py", wanted), document("b.py", text)]
    result = compress(files, "What does `wanted_one` do?", int(letters(wanted) / share) + 30, letters)
    assert not result.parts[0].dropped


def test_a_file_that_the_question_names_is_whole_where_it_fits():
    named = document("lib/ports.py", STEPS[:2000])
    others = [document(f"lib/other_{n}.py", STEPS.replace("step", f"ports_{n}")) for n in range(4)]
    for said in ("ports.py", "lib/ports.py", "/home/me/lib/ports.py", "`ports.py`", "./lib/ports.py"):
        result = compress([*others, named], f"What is in {said}?", 3 * letters(named.text), letters)
        assert not result.parts[-1].dropped, said


def test_of_a_file_that_the_question_names_and_that_does_not_fit_something_is_kept_first():
    named = document("lib/ports.py", STEPS)
    others = [document(f"lib/other_{n}.py", STEPS.replace("step", f"ports_{n}")) for n in range(4)]
    result = compress([*others, named], "What is in ports.py?", 500, letters)
    assert sum(part.tokens_after for part in result.parts[:-1]) < result.parts[-1].tokens_after


@pytest.mark.parametrize("said", ["sports.py", "other/ports.py", "ports.pyc", "ports"])
def test_a_path_that_is_another_one_names_no_file(said):
    assert not named_files(f"What is in {said}?", ["lib/ports.py"])


@pytest.mark.parametrize("piece", ["a", "a/", "...", "a.", "-"])
def test_a_question_is_read_for_paths_in_one_go(piece):
    # With backtracking this would take hours.
    assert not named_files(piece * 1_000_000, ["lib/ports.py"])


def test_a_line_that_many_functions_have_is_no_answer():
    assigns = "".join(f"def use_{n}(self):\n    session = self.open({n})\n    return session\n\n" for n in range(60))
    wanted = "def session_of(self):\n    return self.session or self.default_session\n"
    few = "def use(self):\n    session = self.open()\n    return session\n\n" + filler(60)

    def answers(text):
        found = rank([document("a.py", text)], "how is the session made?", None, lambda: False).boosts.spans
        boosts = [boost for spans in found.values() for boost in spans.values()]
        return [boost for boost in boosts if phase_of(boost) in (Phase.ASKED, Phase.USED)]

    assert answers(few)
    assert not answers(assigns + wanted)


def test_what_the_named_method_uses_comes_before_what_its_class_uses():
    text = """\
class Wanted:
    def __init__(self):
        self.state = set_up_everything()

    def method(self):
        return use_the_state(self)

def set_up_everything():
    return 1

def use_the_state(wanted):
    return 2
"""
    found = find([document("a.py", text)], "What does `Wanted.method` do?")
    sure = {document("a.py", text).units[unit].name for (_, unit), boost in found.items() if boost.sure}
    assert "use_the_state" in sure
    assert "set_up_everything" not in sure


def boosted(documents, query):
    """The boost of each definition, by path and name."""
    found = find(documents, query)
    return {
        f"{documents[number].path}:{documents[number].units[unit].name}": boost.value
        for (number, unit), boost in found.items()
    }


def test_an_imported_function_is_meant_before_the_file_s_own_method_of_that_name():
    text = """\
from cells import cell_length

class Text:
    def cell_length(self):
        return 1

def truncate(text):
    return text[:cell_length(text)]
"""
    files = [document("cells.py", "def cell_length(text):\n    return len(text)\n"), document("text.py", text)]
    values = boosted(files, "What does `truncate` do?")
    assert values["cells.py:cell_length"] == CALLED
    assert "text.py:Text.cell_length" not in values


def test_an_inherited_method_is_that_of_the_class_inherited_from_and_not_every_one_of_that_name():
    def of(name, header):
        return f"class {name}{header}:\n    def discard(self):\n        return 1\n"

    child = "from bases import Base\n\nclass Child(Base):\n    def remove(self):\n        self.discard()\n"
    files = [
        document("child.py", child),
        document("bases.py", of("Base", "")),
        *(document(f"other_{n}.py", of(f"Other{n}", "")) for n in range(3)),
    ]
    values = boosted(files, "What does `Child.remove` do?")
    assert values["bases.py:Base.discard"] == CALLED
    assert all(values.get(f"other_{n}.py:Other{n}.discard", 0.0) < CALLED / 2 for n in range(3))


def test_a_name_is_looked_up_once_for_a_file_however_many_definitions_use_it(monkeypatch):
    looked_up = []
    find = Definitions.find

    def counting(self, mention, near):
        looked_up.append(mention)
        return find(self, mention, near)

    monkeypatch.setattr(Definitions, "find", counting)
    twins = "def same(x):\n    return other(x)\n\ndef other(x):\n    return same(x)\n\n"
    document = cut("a.py", twins * 500)
    compress([document], "what does `same` do?", letters(document.text) // 10, letters)
    # The hundred best units are asked what they use, once each.
    assert len(looked_up) < 150


def test_every_process_values_everything_alike():
    """The order of a set of strings depends on the hash seed, and so does a sum of floats in that order."""
    script = """
from laguna_tui.context.compression.splitting import document
from tests.app.context.compression.paragraphs import cut
from laguna_tui.context.compression.relevance import rank
keys = "alpha beta gamma delta epsilon zeta eta theta iota kappa".split()
text = " ".join(keys) + " = 7\\n\\n" + "".join(f"{key} so\\n\\n" * 3**n for n, key in enumerate(keys[:8]))
found = rank([cut("a.txt", text)], " ".join(keys), None, lambda: False)
print(found.units, found.spans, sorted(found.boosts.spans.items()), sorted(found.boosts.units.items()))
"""
    folder = str(Path(__file__).parent)
    results = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": folder},
            capture_output=True,
            check=True,
        ).stdout
        for seed in "012345"
    }
    assert len(results) == 1


CODE = """\
def total(order):
    rates = wanted_rates(order)
    return sum(rates)
"""
PROSE = """\
When I change the order after it was paid,
the total is wrong: it has the old rates.

I think `wanted_rates` is at fault, because
it is called only once.
What can I do about it?
"""


@pytest.mark.parametrize(
    ("query", "code"),
    [
        (CODE, True),
        (PROSE, False),
        ("what does f(x) do?", False),
        ("", False),
        ("x = 1\ny = 2\nz = 3", True),
        ("fn f() {\n    g();\n}", True),
        ("- first\n- second\n- third", False),
    ],
)
def test_code_is_told_from_words_by_its_lines(query, code):
    assert is_code(query) is code


def test_a_long_question_in_words_gets_what_it_names_first_and_code_weighs_it():
    documents = [cut("a.py", filler(60) + "def wanted_rates(order):\n    return order.all_of_them\n\n")]
    for query, sure in ((PROSE, True), (CODE, False)):
        result = compress(documents, query, 60, letters)
        assert "wanted_rates" in kept_units(result)
        boosts = find(documents, query)
        assert [boost.sure for unit, boost in boosts.items() if boost.why is Why.NAMED] == [sure]


def test_code_draws_in_what_the_file_imports_that_it_seems_to_be_from():
    imports = "from tax import levy_duty\n\n"
    shop = document(
        "shop.py", imports + "def total_order(order):\n    return order.total\n\n\ndef pay_order(order):\n    pass\n"
    )
    tax = document("tax.py", "def levy_duty(goods):\n    return goods * 2\n\n\n" + filler(30))
    query = "def refund_order(order):\n    if order.total > 3:\n        ____(order)\n    return total_order(order)\n"
    assert {tax.units[unit.unit].name for unit, boost in find([shop, tax], query).items() if unit.document == 1} == {
        "levy_duty"
    }


@given(st.lists(st.integers(1, 60), min_size=2, max_size=30), st.data())
@settings(max_examples=60)
def test_the_definition_that_a_question_names_is_always_in(sizes, data):
    texts = [
        f"def step_{n}_of_all(state):\n" + "".join(f"    state = change_{n}(state, {line})\n" for line in range(size))
        for n, size in enumerate(sizes)
    ]
    documents = [document(f"m{n}.py", "\n\n".join(texts[n::3]) or "x = 1\n") for n in range(3)]
    wanted = data.draw(st.integers(0, len(sizes) - 1))
    home = documents[wanted % 3]
    note = letters(marker(home, 0, len(home.spans) - 1, full=True))
    least = 2 * letters(texts[wanted]) + 3 * note
    budget = data.draw(st.integers(least, least + 400))
    query = data.draw(st.sampled_from(["what does {} do?", "{}", "why is it lost in `{}`?", "where is {} called?"]))
    result = compress(documents, query.format(f"step_{wanted}_of_all"), budget, letters)
    assert texts[wanted].strip() in result.text
