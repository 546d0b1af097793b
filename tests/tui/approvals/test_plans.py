"""Which answers are plans."""

import pytest

from laguna_tui.tui.controllers.mode_controller import has_plan


@pytest.mark.parametrize(
    "answer", ["1. Raise the price.", "- one\n- two", "## Plan\n\nRaise it.", "Well:\n\n* [ ] one\n* [ ] two"]
)
def test_steps_and_headings_are_a_plan(answer: str) -> None:
    assert has_plan(answer)


@pytest.mark.parametrize(
    "answer", ["", "Which price?", "- one thing", "See below.\n\n```sh\n# a comment\n- x\n- y\n1. z\n```\nDone."]
)
def test_questions_and_code_are_none(answer: str) -> None:
    assert not has_plan(answer)
