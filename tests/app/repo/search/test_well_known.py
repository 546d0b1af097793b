"""The best known symbols of a folder."""

from laguna_tui.repo.search.index import Index
from laguna_tui.repo.search.well_known import well_known_symbols


def symbols(tmp_path, files):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    with Index.open(tmp_path, tmp_path / "index") as index:
        index.refresh(workers=0)
        return [(each.name, each.users, each.tests) for each in well_known_symbols(index.connection, 9)]


def test_what_most_files_use_comes_first_and_each_file_gives_one(tmp_path):
    found = symbols(
        tmp_path,
        {
            "cart.py": "class ShoppingCart:\n    pass\n\n\ndef empty_cart():\n    pass\n",
            "price.py": "def add_tax(price):\n    return price\n",
            "one.py": "from cart import ShoppingCart\n\nShoppingCart()\n",
            "two.py": "from cart import ShoppingCart\nfrom price import add_tax\n\nShoppingCart(), add_tax(1)\n",
            "tests/test_price.py": "from price import add_tax\n\n\ndef test_tax():\n    assert add_tax(1)\n",
        },
    )
    assert found == [("ShoppingCart", 2, 0), ("add_tax", 1, 1)]


def test_names_that_are_defined_twice_private_plain_or_only_in_tests_are_left_out(tmp_path):
    twice = "def save_it():\n    pass\n\n\ndef _hidden_one():\n    pass\n\n\ndef plain():\n    pass\n"
    found = symbols(tmp_path, {"a.py": twice, "b.py": twice, "tests/test_a.py": "def test_it():\n    pass\n"})
    assert found == []


def test_an_empty_folder_has_none(tmp_path):
    assert symbols(tmp_path, {}) == []
