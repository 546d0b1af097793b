"""The structure keeps within what a newcomer can follow; `python -m tests.structure --names` shows what is counted."""

from pathlib import Path

import pytest

from tests.structure import trips
from tests.structure.figures import ROOT, Structure

ENGINE_FILES = 20


@pytest.fixture(scope="module")
def structure() -> Structure:
    return Structure()


@pytest.mark.parametrize("figure", ["cycles", "loose", "uncontracted", "namesakes"])
def test_there_is_no(structure: Structure, figure: str):
    assert getattr(structure, figure) == []


def test_a_module_of_a_few_lines_has_more_than_one_importer_or_is_a_program_of_its_own(structure: Structure):
    assert structure.thin == []


@pytest.mark.parametrize(
    ("guide", "package"), [("CONTRIBUTING.md", "laguna_tui"), ("engine/README.md", "laguna_engine")]
)
def test_the_guide_to_a_package_names_all_that_is_at_its_top(structure: Structure, guide: str, package: str):
    text = (ROOT / guide).read_text(encoding="utf-8")
    assert [name for name in structure.layers(package) if f"`{name}`" not in text] == []


def test_a_steady_decoding_round_enters_few_files_of_the_engine(tmp_path: Path):
    assert len(trips.token(tmp_path)) <= ENGINE_FILES
