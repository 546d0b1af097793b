"""What a file has where a text was expected."""

import time

import pytest

from laguna_tui.repo.edits.nearest_text import LINE_CHARS, SHOWN_LINES, nearest_text

CART = """import math

class Cart:
    def add(self, item):
        self.items.append(item)

    def total(self, rate):
        # Taxes are included.
        return sum(item.price for item in self.items) * rate

    def clear(self):
        self.items = []
"""


def shown(answer):
    return answer.split("\n")[1:]


def test_the_nearest_lines_are_shown_with_their_numbers():
    answer = nearest_text("cart.py", CART, "def total(self):\n    return sum(item.price for item in self.items)\n")
    assert answer.startswith("the old text is not in cart.py; the nearest text is lines ")
    assert "7:     def total(self, rate):" in shown(answer)
    assert "9:         return sum(item.price for item in self.items) * rate" in shown(answer)


def test_a_text_that_differs_in_blanks_alone_is_nearest_to_itself():
    answer = nearest_text("cart.py", CART, "def clear( self ):\n\tself.items = []")
    assert {"11:     def clear(self):", "12:         self.items = []"} <= set(shown(answer))


def test_what_differs_in_a_line_that_looks_the_same_is_said():
    answer = nearest_text("cart.py", CART, "    def clear(self):\n\tself.items = []")
    assert answer.split("\n")[0] == (
        "the old text is not in cart.py, but line 12 looks like it: it has 8 spaces where old has a tab; the nearest"
        " text is lines 8-12, call again with old as it is there:"
    )
    decomposed = CART.replace("price", "pri\u0301ce")
    answer = nearest_text("cart.py", decomposed, "        return sum(item.pr\u00edce for item in self.items) * rate")
    assert "line 9 looks like it: it has 'sum(item.pri\u0301ce' in the normal form NFD where old has" in answer


def test_a_line_that_is_the_same_counts_more_than_many_of_its_words_elsewhere():
    text = "alpha beta gamma delta\n" * 3 + "\n" * 20 + "return alpha\n"
    assert "24: return alpha" in shown(nearest_text("a.txt", text, "return alpha\nreturn beta_gamma"))


@pytest.mark.parametrize("text", ["", "\n", "\0", "quite another text\n", "(((\n"])
def test_where_nothing_is_like_it_the_answer_is_one_sentence(text):
    answer = nearest_text("a.py", text, "def total(items):\n    return 0")
    assert (
        answer
        == "the old text is not in a.py, nor anything like it; read the file, then call again with text as it stands"
    )


def test_only_so_many_lines_are_shown():
    lines = [f"value_{number} = {number}" for number in range(500)]
    old = "\n".join(lines[100:300]) + "\nother = 1"
    assert len(shown(nearest_text("a.py", "\n".join(lines), old))) == SHOWN_LINES


def test_a_long_line_is_shown_around_what_was_looked_for():
    text = "x = 1; " * 10_000 + "wanted = total(items); " + "y = 2; " * 10_000
    (line,) = shown(nearest_text("a.js", text, "wanted = total(item)"))
    assert "wanted = total(items)" in line
    assert len(line) < LINE_CHARS + 10


@pytest.mark.parametrize("text", [CART.replace("\n", "\r\n"), CART.replace("\n", "\r")])
def test_line_breaks_make_no_difference(text):
    old = "def total(self):\n    return sum(item.price)"
    assert nearest_text("cart.py", text, old) == nearest_text("cart.py", CART, old)


def test_a_text_of_two_megabytes_is_not_looked_for_word_by_word():
    text = " ".join(f"a{number}" for number in range(250_000))
    begun = time.process_time()
    nearest_text("a.txt", text, text.replace("a", "b") + " a7")
    assert time.process_time() - begun < 3


@pytest.mark.parametrize("joint", ["\n", " "])
def test_two_megabytes_take_less_than_a_second(joint):
    text = joint.join(f"    name_{number} = call_{number % 97}(argument_{number % 1009})" for number in range(60_000))
    assert len(text) > 2_000_000
    begun = time.process_time()
    nearest_text("a.py", text, "\n".join(f"name_{number} = call(argument_{number})" for number in range(300)))
    assert time.process_time() - begun < 1
