"""What was learned about drafts survives a session, and a damaged file is as good as none."""

import pytest

from laguna_tui.session.draft_statistics import (
    LIMIT_BYTES,
    draft_statistics_path,
    load_draft_statistics,
    save_draft_statistics,
)
from tests.app.odd_files import odd


def test_saved_statistics_are_loaded_and_no_other_file_is_left(tmp_path):
    path = draft_statistics_path(tmp_path, "Laguna Nano", ["model", "drafter"])
    assert load_draft_statistics(path) is None
    save_draft_statistics(path, {"plain_s": 0.01})
    save_draft_statistics(path, {"plain_s": 0.02})
    assert load_draft_statistics(path) == {"plain_s": 0.02}
    assert list(path.parent.iterdir()) == [path]


def test_other_files_or_machines_are_other_experience(tmp_path):
    paths = {draft_statistics_path(tmp_path, "m", parts) for parts in (["a", "b"], ["ab", ""], ["a", "b", "GPU"])}
    assert len(paths) == 3
    assert draft_statistics_path(tmp_path, "../../etc/x\n", []).parent == tmp_path / "economy"


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b"[" * 100_000, b"{}" + b" " * LIMIT_BYTES])
def test_a_damaged_file_is_as_good_as_none(tmp_path, content):
    path = tmp_path / "economy.json"
    path.write_bytes(content)
    assert load_draft_statistics(path) is None


def test_a_folder_that_cannot_be_created_is_not_an_error(tmp_path):
    (tmp_path / "economy").write_text("in the way")
    path = draft_statistics_path(tmp_path, "m", [])
    save_draft_statistics(path, {"plain_s": 0.01})
    assert load_draft_statistics(path) is None


def test_a_value_that_is_not_json_leaves_the_old_file_intact(tmp_path):
    path = draft_statistics_path(tmp_path, "m", [])
    save_draft_statistics(path, {"plain_s": 0.01})
    with pytest.raises(TypeError):
        save_draft_statistics(path, {"plain_s": object()})
    assert load_draft_statistics(path) == {"plain_s": 0.01}
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.timeout(30)
@odd
def test_a_file_that_is_not_small_or_regular_is_ignored(tmp_path, make):
    make(tmp_path / "economy.json")
    assert load_draft_statistics(tmp_path / "economy.json") is None
