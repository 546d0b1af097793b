"""A small folder of code, and its index in a cache folder of its own."""

import subprocess

import pytest

from laguna_tui.repo.search.index import Index

FILES = {
    "shop/cart.py": '''
"""What a customer wants to buy."""
from shop.prices import PriceList, roundMoney

class ShoppingCart:
    """Holds items until they are paid."""

    def __init__(self, prices: PriceList):
        self.prices = prices
        self.items = []

    def total_price(self):
        """The sum over all items, rounded."""
        return roundMoney(sum(self.prices.lookup(item) for item in self.items))
''',
    "shop/prices.py": '''
"""Prices of items."""

class PriceList:
    def lookup(self, item):
        return self.table[item]

def roundMoney(amount):
    """Cut an amount to whole cents."""
    return round(amount, 2)
''',
    "shop/report.py": """
from shop.cart import ShoppingCart
from shop.prices import roundMoney

def monthly_report(carts: list[ShoppingCart]):
    return [roundMoney(cart.total_price()) for cart in carts]
""",
    "tests/test_cart.py": """
from shop.cart import ShoppingCart

def test_total_price_of_a_shopping_cart_is_rounded():
    assert ShoppingCart(None).total_price() == 0
""",
    "web/cart.ts": """
export class CartView {
    render(total: number): string { return formatMoney(total); }
}
""",
    "README.md": "# The shop\n\nSells things.\n\n## Refunds\n\nA refund is paid back within a week.\n",
}


def write(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def git(root, *command):
    options = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *options, *command], cwd=root, check=True, capture_output=True)


@pytest.fixture
def shop(tmp_path):
    root = tmp_path / "shop"
    write(root, FILES)
    git(root, "init")
    return root


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def index(shop, cache):
    """The shop's index, up to date."""
    with Index.open(shop, cache) as opened:
        opened.refresh(workers=0)
        yield opened
