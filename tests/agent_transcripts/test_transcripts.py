"""What the model sees changes only where that is meant: `python -m tests.agent_transcripts --update` takes a change."""

import difflib

import pytest

from tests.agent_transcripts.transcript import RECORDED, SCENARIOS, file_of, transcript


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_model_sees_what_was_recorded(name: str):
    SCENARIOS[name].require()
    before, now = file_of(name).read_text(encoding="utf-8").splitlines(), transcript(SCENARIOS[name]).splitlines()
    changed = "\n".join(difflib.unified_diff(before, now, "recorded", "now", lineterm=""))
    assert not changed, f"{changed}\n\nIf this is meant: python -m tests.agent_transcripts --update"


def test_every_recorded_transcript_is_of_a_scenario():
    assert {path.name for path in RECORDED.iterdir()} == {file_of(name).name for name in SCENARIOS}
