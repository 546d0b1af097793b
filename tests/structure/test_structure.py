"""The structure keeps within what a newcomer can follow; `python -m tests.structure --names` shows what is counted."""

import pytest

from tests.structure.figures import ROOT, Structure
from tests.structure.inventory import INVENTORY, inventory


@pytest.fixture(scope="module")
def structure() -> Structure:
    return Structure()


@pytest.mark.parametrize("figure", ["cycles", "loose", "uncontracted"])
def test_there_is_no(structure: Structure, figure: str):
    assert getattr(structure, figure) == []


def test_modules_of_the_same_name_have_the_same_subject(structure: Structure):
    # What is shown while a turn runs, and what a session file says of it.
    assert structure.namesakes == ["laguna_tui.base.events laguna_tui.store.events"]


@pytest.mark.parametrize(
    ("guide", "package"), [("CONTRIBUTING.md", "laguna_tui"), ("engine/README.md", "laguna_engine")]
)
def test_the_guide_to_a_package_names_all_that_is_at_its_top(structure: Structure, guide: str, package: str):
    text = (ROOT / guide).read_text(encoding="utf-8")
    assert [name for name in structure.layers(package) if f"`{name}`" not in text] == []


def test_nothing_of_the_inventory_is_missing_or_unrecorded():
    recorded = INVENTORY.read_text(encoding="utf-8")
    assert inventory() == recorded, "if the change is intended: python -m tests.structure --inventory > inventory.md"
