"""Whatever is killed at any moment, what it leaves is whole and unlocked, and nothing that was done is lost."""

import pytest

from tests.kills import survives


@pytest.mark.parametrize(
    ("victim", "kills", "state"),
    [
        ("app", 3, ""),
        ("history", 3, "asking"),
        ("index", 6, "2 writing"),
        ("journal", 25, "working"),
        # Files were being written, and there were whole ones to confuse them with.
        ("snapshot", 100, "whole files, a partial one"),
    ],
)
def test_what_a_killed_process_leaves_is_whole_and_unlocked(victim: str, kills: int, state: str) -> None:
    table = survives(victim, kills, seed=7)
    assert f"| all | {kills} | 0 |" in table
    assert state in table


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    ("victim", "kills"), [("app", 300), ("history", 300), ("index", 200), ("journal", 1000), ("snapshot", 1000)]
)
def test_hundreds_of_kills_leave_everything_whole_and_unlocked(victim: str, kills: int) -> None:
    assert f"| all | {kills} | 0 |" in survives(victim, kills)
