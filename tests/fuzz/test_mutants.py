"""A sample of the campaign, and its own honesty: a death, a traceback and an abort are counted as such."""

from pathlib import Path

import pytest

from tests.fuzz import campaign, mutants

SAMPLE = range(4 * len(mutants.KINDS))
"""Four of every kind of file."""


@pytest.mark.timeout(400)
def test_a_sample_of_mutants_kills_nothing(tmp_path: Path) -> None:
    campaign.prepare(tmp_path)
    outcomes = list(campaign.run(SAMPLE, tmp_path))
    assert [number for number, _, _ in outcomes] == list(SAMPLE)
    assert [outcome for outcome in outcomes if outcome[1] in campaign.BAD] == []
    assert {outcome for _, outcome, _ in outcomes} <= {campaign.OPENED, campaign.REFUSED, campaign.CONTAINED}


def test_a_mutant_is_the_same_file_every_time() -> None:
    assert [mutants.mutant(number) for number in range(40)] == [mutants.mutant(number) for number in range(40)]


def test_every_whole_file_is_opened(tmp_path: Path) -> None:
    """What is not changed at all has nothing to be refused for."""
    campaign.prepare(tmp_path)
    whole = [kind for kind in dict.fromkeys(mutants.KINDS) if "/" not in kind.name]
    outcomes = {kind.name: campaign.outcome(kind.make().to_bytes(), kind.role, tmp_path) for kind in whole}
    assert outcomes == {kind.name: (campaign.OPENED, "") for kind in whole}


@pytest.mark.parametrize(
    ("program", "outcome"),
    [
        ("import ctypes; ctypes.string_at(0)", campaign.DEATH),
        ("raise ValueError", campaign.TRACEBACK),
        ("from laguna_engine.errors import NativeAbort; raise NativeAbort", campaign.ABORT),
        ("from laguna_engine.errors import ModelFileError; raise ModelFileError", campaign.REFUSED),
        ("pass", campaign.OPENED),
    ],
)
def test_what_happens_is_counted_as_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, outcome: str
) -> None:
    """The app's process is replaced by one in which opening the second mutant runs `program`."""
    source = (
        "import sys; from pathlib import Path; from tests.fuzz import campaign, mutants\n"
        "opened = []\n"
        "def use(role, path, folder):\n"
        "    opened.append(path)\n"
        f"    if len(opened) == 2: exec({program!r})\n"
        "campaign._use = use\n"
        f"campaign.app(Path({str(tmp_path)!r}))\n"
    )
    monkeypatch.setattr(campaign, "APP", ("-c", source))
    found = [word for _, word, _ in campaign.run(range(4), tmp_path)]
    after_a_death = [campaign.OPENED, outcome, campaign.OPENED, outcome]
    assert found == (after_a_death if outcome == campaign.DEATH else [campaign.OPENED, outcome, *[campaign.OPENED] * 2])
