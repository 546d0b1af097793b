"""A small shop in a folder, and edits that a model could propose."""

from pathlib import Path

from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.repo.edits.edit_files import propose_edit
from laguna_tui.repo.files.workspace import Workspace

CART = '''\
"""What a customer wants to buy."""


class Cart:
    """Items, until they are paid."""

    def __init__(self, items):
        self.items = list(items)

    def total(self):
        total = 0
        for item in self.items:
            total += item.price  # in cents
        return total
'''
LONG = "".join(f"PRICE_{number} = {number}\n" for number in range(120))


class Project:
    """The folder, and its file `shop/cart.py`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cart = root / "shop" / "cart.py"
        self.prices = root / "shop" / "prices.py"
        self.cart.parent.mkdir()
        self.cart.write_text(CART)
        self.prices.write_text(LONG)

    def edit(self, old: str, new: str, path: str = "shop/cart.py", *, all: bool = False) -> ChangeProposal:  # noqa: A002
        """A proposal, made from the file as it is now."""
        return propose_edit(Workspace(self.root), path, old, new, all)

    def rename(self) -> ChangeProposal:
        """`total` is called `amount`, in four places."""
        return self.edit("total", "amount", all=True)

    def long(self) -> ChangeProposal:
        """More lines than a screen has."""
        return self.edit(LONG, LONG.replace("PRICE", "COST"), "shop/prices.py")
