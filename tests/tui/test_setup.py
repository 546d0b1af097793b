"""Setting up: what was found, one key to get the model, chatting meanwhile, and one key to use it."""

from dataclasses import replace

import pytest
from textual import events

from laguna_tui.errors import UserError
from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.models.fetching import Stage
from laguna_tui.tui.session import TuiSettings
from tests.tui.pilot import ask, ready, running, screen, transcript, until
from tests.tui.scripted import ScriptedSession
from tests.tui.shops import OFFER, STALLED, ScriptedShop
from tests.tui.test_models import CHOICES
from tests.tui.test_snapshots import StillApp

NONE = replace(
    OFFER,
    name="",
    why=(
        "Laguna XS 2.1 needs at least 18.9 GiB, and there is no GPU; choose a smaller model.",
        "This machine runs only small models, such as the one that is here.",
    ),
)


def session():
    return ScriptedSession(title="Laguna Nano", models=CHOICES)


async def opened(app, pilot, *keys):
    """The setup screen, and these keys pressed in it."""
    await ready(app, pilot)
    await pilot.press("f8")
    await until(pilot, lambda: "Found" in screen(app))
    await pilot.press(*keys)


def stage(app):
    return app.desk.fetching.stage


async def test_one_key_downloads_while_one_chats_and_one_key_switches():
    shop = ScriptedShop()
    async with running(session(), shop=shop) as (app, pilot):
        await opened(app, pilot, "enter")
        await until(pilot, lambda: "33 %" in screen(app) and "42.0 MB/s" in screen(app))
        await pilot.press("escape")
        await ask(app, pilot, "hello")
        assert app._session.asked == ["hello"]
        assert "33 %" in screen(app)
        shop.go_on.set()
        await until(pilot, lambda: "F8 switches to it" in screen(app))
        await pilot.press("f8")
        await until(pilot, lambda: app._session.switched == ["xs-2.1"])
        await ready(app, pilot)
        assert "hello" in transcript(app)
        assert "F8" not in app.rail.fetching
        assert shop.fetched == ["xs-2.1"]


async def test_it_is_paused_and_goes_on_with_the_same_key():
    shop = ScriptedShop()
    async with running(session(), shop=shop) as (app, pilot):
        await opened(app, pilot, "enter", "p")
        await until(pilot, lambda: "Paused 33 %" in screen(app))
        shop.go_on.set()
        await pilot.press("enter")
        await until(pilot, lambda: "Laguna XS 2.1 is here." in screen(app))
        await pilot.press("enter")
        await until(pilot, lambda: app._session.switched == ["xs-2.1"])


async def test_an_error_is_told_and_the_same_key_goes_on():
    shop = ScriptedShop(OFFER, STALLED, None)
    async with running(session(), shop=shop) as (app, pilot):
        await opened(app, pilot, "enter")
        await until(pilot, lambda: "cannot be" in screen(app))
        await pilot.press("escape")
        await until(pilot, lambda: "F8 says why" in screen(app))
        await pilot.press("f8")
        await until(pilot, lambda: "cannot be" in screen(app))
        shop.go_on.set()
        await pilot.press("enter")
        await until(pilot, lambda: stage(app) is Stage.READY)
        assert shop.fetched == ["xs-2.1", "xs-2.1"]


@pytest.mark.parametrize("paused", [False, True])
async def test_cancelling_throws_away_what_has_arrived_and_offers_it_anew(paused):
    shop = ScriptedShop()
    async with running(session(), shop=shop) as (app, pilot):
        await opened(app, pilot, "enter")
        await until(pilot, lambda: "33 %" in screen(app))
        if paused:
            await pilot.press("p")
            await until(pilot, lambda: "Paused" in screen(app))
        await pilot.press("x")
        await until(pilot, lambda: stage(app) is Stage.NOTHING and "21.0 GB to download" in screen(app))
        assert shop.discarded == (["xs-2.1"] if paused else [])
        await until(pilot, lambda: app.rail.fetching == "")


@pytest.mark.parametrize("problem", [UserError("xs-2.1: no model of that name"), ValueError("a damaged catalogue")])
async def test_a_download_that_cannot_even_be_begun_is_told_and_the_same_key_tries_again(problem):
    shop = ScriptedShop()
    shop.closed = problem
    async with running(session(), shop=shop) as (app, pilot):
        await opened(app, pilot, "enter")
        await until(pilot, lambda: stage(app) is Stage.FAILED)
        assert str(problem) in app.desk.fetching.problem
        shop.closed = None
        shop.go_on.set()
        await pilot.press("enter")
        await until(pilot, lambda: stage(app) is Stage.READY)


async def test_the_screen_waits_for_no_download_that_is_slow_to_begin():
    shop = ScriptedShop()
    shop.opens.clear()
    async with running(session(), shop=shop) as (app, pilot):
        await opened(app, pilot, "enter", "escape")
        await ask(app, pilot, "hello")
        assert not shop.fetched
        app.desk.fetching.pause()
        shop.opens.set()
        # The pause counts although there was nothing yet to pause.
        await until(pilot, lambda: stage(app) is Stage.PAUSED)
        assert shop.fetched == ["xs-2.1"]


async def test_the_screen_waits_for_no_file_that_is_thrown_away():
    shop = ScriptedShop()
    async with running(session(), shop=shop) as (app, pilot):
        await opened(app, pilot, "enter", "p")
        await until(pilot, lambda: stage(app) is Stage.PAUSED)
        shop.opens.clear()
        await pilot.press("x", "enter", "escape")
        await ask(app, pilot, "hello")
        assert not shop.discarded
        shop.opens.set()
        await until(pilot, lambda: stage(app) is Stage.NOTHING and app.rail.fetching == "")
        # Enter began nothing while the files were on their way out.
        assert (shop.discarded, shop.fetched) == (["xs-2.1"], ["xs-2.1"])


async def test_what_was_begun_in_an_earlier_session_goes_on():
    shop = ScriptedShop(replace(OFFER, have=7_000_000_000))
    async with running(session(), shop=shop) as (app, pilot):
        await opened(app, pilot)
        assert "7.0 GB of 21.0 GB here" in screen(app)
        assert "go on with the download" in screen(app)


async def test_offline_nothing_is_offered_and_no_key_fetches():
    shop = ScriptedShop(replace(OFFER, offline=True))
    async with running(session(), shop=shop) as (app, pilot):
        await opened(app, pilot, "enter", "p", "x")
        assert "no connection is opened" in screen(app)
        assert not shop.fetched


async def test_a_machine_for_small_models_only_is_told_so_honestly():
    shop = ScriptedShop(NONE)
    async with running(session(), shop=shop) as (app, pilot):
        await opened(app, pilot, "enter")
        assert "runs only small models" in screen(app)
        assert not shop.fetched


async def test_a_model_of_the_list_that_is_not_here_leads_to_its_download():
    shop = ScriptedShop()
    async with running(session(), shop=shop) as (app, pilot):
        await ready(app, pilot)
        await pilot.press("f7")
        await until(pilot, lambda: "Laguna Big" in screen(app))
        await pilot.press("down", "down", "down", "enter")
        await until(pilot, lambda: "21.0 GB to download" in screen(app))


async def test_leaving_pauses_the_download():
    shop = ScriptedShop()
    async with running(session(), shop=shop) as (app, pilot):
        await opened(app, pilot, "enter")
        await until(pilot, lambda: "33 %" in screen(app))
        await pilot.press("ctrl+q")
    assert stage(app) is Stage.PAUSED


async def test_the_screen_comes_by_itself_at_the_very_first_start_only(tmp_path):
    marker = tmp_path / "state" / "setup-seen"
    for first in (True, False):
        app = LagunaApp(session(), TuiSettings(theme="laguna-dark", marker=marker), ScriptedShop())
        async with app.run_test(size=(80, 24)) as pilot:
            await ready(app, pilot)
            await until(pilot, lambda app=app, first=first: ("Found" in screen(app)) is first)
            assert marker.is_file()


async def test_without_a_shop_nothing_is_set_up():
    async with running(session()) as (app, pilot):
        await ready(app, pilot)
        await pilot.press("f8")
        await until(pilot, lambda: "nothing to set up" in screen(app))


async def downloading(app, pilot, shop):
    await opened(app, pilot, "enter")
    await until(pilot, lambda: "33 %" in screen(app) and "33 %" in app.rail.fetching)


async def paused(app, pilot, shop):
    await downloading(app, pilot, shop)
    await pilot.press("p")
    await until(pilot, lambda: "Paused" in screen(app) and app.rail.fetching.startswith("paused"))


async def failed(app, pilot, shop):
    await opened(app, pilot, "enter")
    await until(pilot, lambda: "cannot be" in screen(app) and "says why" in app.rail.fetching)


async def whole(app, pilot, shop):
    shop.go_on.set()
    await opened(app, pilot, "enter")
    await until(pilot, lambda: "is here." in screen(app) and "switches" in app.rail.fetching)


async def behind(app, pilot, shop):
    await downloading(app, pilot, shop)
    await pilot.press("escape")
    await until(pilot, lambda: len(app.screen_stack) == 1)


async def found(app, pilot, shop):
    await opened(app, pilot)


@pytest.mark.parametrize("size", [(80, 24), (40, 24)])
@pytest.mark.parametrize("moment", [found, downloading, paused, failed, whole, behind])
def test_setting_up(snap_compare, moment, size: tuple[int, int]) -> None:
    shop = ScriptedShop(OFFER, *([STALLED] if moment is failed else []))

    async def shown(pilot) -> None:
        await moment(pilot.app, pilot, shop)

    assert snap_compare(StillApp(session(), "laguna-dark", shop), terminal_size=size, run_before=shown)


@pytest.mark.parametrize("offer", [NONE, replace(OFFER, offline=True)], ids=["small", "offline"])
def test_nothing_to_get(snap_compare, offer) -> None:
    shop = ScriptedShop(offer)

    async def shown(pilot) -> None:
        await opened(pilot.app, pilot)

    assert snap_compare(StillApp(session(), "laguna-dark", shop), terminal_size=(80, 24), run_before=shown)


async def test_its_letters_count_in_either_case():
    shop = ScriptedShop()
    async with running(session(), shop=shop) as (app, pilot):
        await opened(app, pilot, "enter", "P")
        await until(pilot, lambda: "Paused 33 %" in screen(app))
        await pilot.press("X")
        await until(pilot, lambda: shop.discarded == ["xs-2.1"])
        await pilot.press("Q")
        await until(pilot, lambda: len(app.screen_stack) == 1)


async def test_what_is_typed_while_it_is_open_goes_to_the_input_and_downloads_nothing():
    shop = ScriptedShop()
    async with running(session(), shop=shop) as (app, pilot):
        await opened(app, pilot)
        for letter in "what is x?":
            app.screen.post_message(events.Key({" ": "space", "?": "question_mark"}.get(letter, letter), letter))
        app.screen.post_message(events.Key("enter", None))
        await until(pilot, lambda: app._session.asked == ["what is x?"])
        assert len(app.screen_stack) == 1
        assert shop.fetched == []
