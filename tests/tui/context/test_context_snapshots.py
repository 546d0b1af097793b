"""Snapshots of mentions, costs and the context screen: fixed sizes, no clock, no cursor, no animation."""

from pathlib import Path

import pytest

from tests.tui.contexts import BLOCKS, TEXTS, change_costs, costs, names, prompting
from tests.tui.pilot import ready, screen, until
from tests.tui.scripted import PlayedSession
from tests.tui.test_snapshots import still

NARROW, USUAL, WIDE = (40, 24), (80, 24), (200, 50)
FILE = 3


def session() -> PlayedSession:
    return prompting(
        PlayedSession(title="Laguna Nano", folder=Path("/src/project")),
        costs=costs,
        names=names,
        blocks=BLOCKS,
        texts=TEXTS,
        change_costs=change_costs,
    )


async def typed(pilot, text: str, shows: str) -> None:
    await ready(pilot.app, pilot)
    pilot.app.prompt.insert(text)
    await until(pilot, lambda: shows in screen(pilot.app))


async def inspected(pilot) -> None:
    """The inspector is open, with a change that is not made yet."""
    await ready(pilot.app, pilot)
    await pilot.press("f9")
    await until(pilot, lambda: "AGENTS.md" in screen(pilot.app))
    await pilot.press(*["down"] * FILE, "space", "space")
    await until(pilot, lambda: "to read" in screen(pilot.app))


@pytest.mark.parametrize("size", [USUAL, NARROW])
def test_the_list_of_mentions(snap_compare, size: tuple[int, int]) -> None:
    async def listed(pilot) -> None:
        await typed(pilot, "How does @", "38,100 cached")
        await until(pilot, lambda: pilot.app.prompt.completions.is_open)
        await pilot.press("down")

    assert snap_compare(still(session()), terminal_size=size, run_before=listed)


@pytest.mark.parametrize("size", [USUAL, NARROW])
def test_a_message_that_breaks_the_cache(snap_compare, size: tuple[int, int]) -> None:
    async def warned(pilot) -> None:
        await typed(pilot, "edit what is in @foo and say why", "12,400 tokens again")

    assert snap_compare(still(session()), terminal_size=size, run_before=warned)


def test_a_message_that_does_not_fit(snap_compare) -> None:
    async def warned(pilot) -> None:
        await typed(pilot, "the whole of it", "does not fit")

    assert snap_compare(still(session(), "laguna-light"), terminal_size=USUAL, run_before=warned)


@pytest.mark.parametrize("size", [USUAL, NARROW, WIDE])
def test_the_context(snap_compare, size: tuple[int, int]) -> None:
    assert snap_compare(still(session()), terminal_size=size, run_before=inspected)


def test_the_context_in_light(snap_compare) -> None:
    assert snap_compare(still(session(), "laguna-light"), terminal_size=USUAL, run_before=inspected)


@pytest.mark.parametrize("size", [USUAL, NARROW, WIDE])
def test_a_block_before_and_after(snap_compare, size: tuple[int, int]) -> None:
    async def compared(pilot) -> None:
        await inspected(pilot)
        await pilot.press("d")
        await until(pilot, lambda: "lines kept" in screen(pilot.app))

    assert snap_compare(still(session()), terminal_size=size, run_before=compared)
