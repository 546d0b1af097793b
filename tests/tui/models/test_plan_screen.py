"""The plan screen shows how the model was opened."""

import pytest

from tests.tui.pilot import ready, running, screen, until
from tests.tui.scripted import PlayedSession
from tests.tui.test_snapshots import still

PLAN = (
    "64 K tokens of context, q8_0 cache, all layers on the GPU, drafter",
    "layers: all on CUDA0. All 40 layers fit there: 18.9 GiB.",
    "KV cache: q8_0. An f16 cache would leave no room for 64 K tokens; q8_0 loses next to nothing.",
    "drafter: on. It takes 0.9 GiB and speeds up answers where its drafts are accepted.",
    "without: An f16 cache: 0.7 GiB more on CUDA0 needed.",
    "next step: An f16 cache would take 0.7 GiB more on CUDA0.",
)


async def test_the_plan_is_shown_and_escape_closes_it():
    async with running(PlayedSession(plan=(*PLAN, "evil: \x1b[2Jgone"))) as (app, pilot):
        await ready(app, pilot)
        app.prompt.replace_text("/plan")
        await pilot.press("enter")
        await until(pilot, lambda: "How the model was opened" in screen(app))
        assert "All 40 layers fit there" in screen(app)
        assert "\x1b" not in screen(app)
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)


async def test_without_a_model_the_plan_says_so():
    async with running(PlayedSession()) as (app, pilot):
        await ready(app, pilot)
        await app.run_action("plan")
        await until(pilot, lambda: "No model is open yet" in screen(app))


@pytest.mark.parametrize("size", [(80, 24), (40, 24)])
def test_the_plan(snap_compare, size: tuple[int, int]) -> None:
    async def shown(pilot) -> None:
        await ready(pilot.app, pilot)
        await pilot.app.run_action("plan")

    assert snap_compare(still(PlayedSession(plan=PLAN)), terminal_size=size, run_before=shown)
