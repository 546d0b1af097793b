"""No file and no question is a fault (500 folders: `search_fuzz.py`)."""

import pytest

from laguna_tui.repo.search.symbol_search import definitions_of, find_symbols, members_of, named
from tests.app.repo.search.search_fuzz import fuzzed


@pytest.mark.parametrize("number", [10, 20])
def test_a_folder_of_damaged_files_is_indexed_and_asked(tmp_path, number):
    report = fuzzed(number, tmp_path)
    assert report.asked > 100
    assert [fault for fault in report.faults if not fault.what.startswith("took")] == []


@pytest.mark.parametrize("wanted", ["\ud800", "a.\udcff", "x" * 100_000, "[*?" * 10_000])
def test_a_name_that_no_definition_can_have_finds_nothing(index, wanted):
    for find in (find_symbols, definitions_of, members_of):
        assert find(index.connection, wanted) == []
    assert named(index.connection, [wanted]) == []
