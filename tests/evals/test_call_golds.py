"""The evals' answers must be right, or every table built on them is wrong."""

import ast

from tests.evals.call_golds import MASK, Package, Place
from tests.evals.keepers import bm25, missing
from tests.evals.needle_golds import hide, needles

FILES = {
    "shop/__init__.py": "from shop.cart import total\n",
    "shop/prices.py": "def net(price):\n    return price / 2\n\n\ndef total(cart):\n    return 0\n",
    "shop/cart.py": '''"""A cart."""
from . import prices
from .prices import net


def total(cart):
    return sum(cart)


class Base:
    def size(self):
        return 1


class Cart(Base):
    def report(self, net2):
        """Say what is in it. And more."""
        count = self.size()
        rest = net2(count)
        return net(rest)

    def other(self):
        first = prices.total(self)
        second = unknown(first)

        return second
''',
}


def found(name: str, seed: int = 1):
    return next(call for call in Package(FILES).calls(seed) if call.name == name)


def test_callees_are_found_in_bases_and_through_imports_but_not_among_parameters() -> None:
    call = found("Cart.report")
    assert {call.masked, *call.seen} == {
        Place("shop/cart.py", "Base.size", 11, 11, 12),
        Place("shop/prices.py", "net", 1, 1, 2),
    }


def test_a_module_s_attribute_is_the_definition_in_that_module_and_not_one_of_the_same_name() -> None:
    call = found("Cart.other")
    assert (call.masked, call.seen) == (Place("shop/prices.py", "total", 5, 5, 6), ())


def test_the_masked_name_is_nowhere_in_the_function_and_every_line_keeps_its_number() -> None:
    call = found("Cart.report")
    assert MASK in call.code and call.masked.name.split(".")[-1] + "(" not in call.code
    assert call.text.count("\n") == FILES["shop/cart.py"].count("\n")
    assert call.sentence == "Say what is in it."


def test_what_is_missing_is_what_no_range_covers() -> None:
    assert missing("abcdefgh", 1, 7, [(5, 9), (0, 3)]) == "de"
    assert missing("ab  cd", 0, 6, [(0, 2), (4, 6)]) == ""


def test_bm25_prefers_rare_words_and_short_texts() -> None:
    scores = bm25(["rare", "common"], ["common text", "rare text", "common and much more text here", "none"])
    assert scores[1] > scores[0] > scores[2] > scores[3] == 0.0


def test_needles_are_whole_in_code_that_still_parses() -> None:
    long = "def long():\n" + "".join(f"    step_{n} = {n}\n" for n in range(30))
    for needle in needles(0.5, 1):
        hidden = dict(hide([*FILES.items(), ("shop/long.py", long)], needle.inserts))
        for text in hidden.values():
            ast.parse(text)
        assert all(any(line in text for text in hidden.values()) for line in needle.answer)
