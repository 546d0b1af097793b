"""The questions of the evals are what they claim to be: the answer is in the code, and the question is not."""

from tests.evals.golds import definitions, stripped

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
    assert found == [("Shop", "A place where things are sold."), ("Shop.sell", "Hand a thing over for money.")]
    assert "money" not in code
    assert "Sells" not in code
    compile(code, "module", "exec")
    assert code.count("\n") == MODULE.count("\n")


def test_definitions_of_tests_are_never_asked_for(tmp_path):
    for path in ("source/shop.py", "source/tests/test_shop.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(MODULE)
    golds = definitions(tmp_path / "source", tmp_path / "target")
    assert {path for gold in golds for path, _ in gold.answers} == {"shop.py"}
    assert (tmp_path / "target/tests/test_shop.py").is_file()
