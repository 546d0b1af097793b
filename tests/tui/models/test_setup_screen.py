"""The setup screen: this machine, downloading the model while chatting, and switching to it."""

import asyncio
from dataclasses import replace

import pytest
from textual import events

from laguna_tui.base.errors import UserError
from laguna_tui.tui.models.background_download import DownloadStage
from laguna_tui.tui.models.setup_screen import SetupScreen
from laguna_tui.tui.prompt.prompt_input import PromptInput
from tests.tui.models.test_model_picker import CHOICES
from tests.tui.pilot import ask, ready, running, screen, transcript, until
from tests.tui.scripted import PlayedSession
from tests.tui.scripted_model_setup import OFFER, STALLED, ScriptedModelSetup
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
    return PlayedSession(title="Laguna Nano", models=CHOICES)


async def opened(app, pilot, *keys):
    """The setup screen, and these keys pressed in it."""
    await ready(app, pilot)
    await pilot.press("f8")
    await until(pilot, lambda: "Found" in screen(app))
    await pilot.press(*keys)


def stage(app):
    return app.models.download.stage


async def test_one_key_downloads_while_one_chats_and_one_key_switches():
    model_setup = ScriptedModelSetup()
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await opened(app, pilot, "enter")
        await until(pilot, lambda: "33 %" in screen(app) and "42.0 MB/s" in screen(app))
        await pilot.press("escape")
        await ask(app, pilot, "hello")
        assert app.session.chat.asked == ["hello"]
        assert "33 %" in screen(app)
        model_setup.go_on.set()
        await until(pilot, lambda: "F8 switches to it" in screen(app))
        await pilot.press("f8")
        await until(pilot, lambda: app.session.models.switched == ["xs-2.1"])
        await ready(app, pilot)
        assert "hello" in transcript(app)
        assert "F8" not in app.hint_bar.download
        assert model_setup.fetched == ["xs-2.1"]


async def test_it_is_paused_and_goes_on_with_the_same_key():
    model_setup = ScriptedModelSetup()
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await opened(app, pilot, "enter", "p")
        await until(pilot, lambda: "Paused 33 %" in screen(app))
        model_setup.go_on.set()
        await pilot.press("enter")
        await until(pilot, lambda: "Laguna XS 2.1 is downloaded." in screen(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.session.models.switched == ["xs-2.1"])


async def test_an_error_is_told_and_the_same_key_goes_on():
    model_setup = ScriptedModelSetup(OFFER, STALLED, None)
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await opened(app, pilot, "enter")
        await until(pilot, lambda: "cannot be" in screen(app))
        await pilot.press("escape")
        await until(pilot, lambda: "F8 says why" in screen(app))
        await pilot.press("f8")
        await until(pilot, lambda: "cannot be" in screen(app))
        model_setup.go_on.set()
        await pilot.press("enter")
        await until(pilot, lambda: stage(app) is DownloadStage.READY)
        assert model_setup.fetched == ["xs-2.1", "xs-2.1"]


@pytest.mark.parametrize("paused", [False, True])
async def test_cancelling_throws_away_what_has_arrived_and_offers_it_anew(paused):
    model_setup = ScriptedModelSetup()
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await opened(app, pilot, "enter")
        await until(pilot, lambda: "33 %" in screen(app))
        if paused:
            await pilot.press("p")
            await until(pilot, lambda: "Paused" in screen(app))
        await pilot.press("x")
        await until(pilot, lambda: stage(app) is DownloadStage.NOTHING and "21.0 GB to download" in screen(app))
        assert model_setup.discarded == (["xs-2.1"] if paused else [])
        await until(pilot, lambda: app.hint_bar.download == "")


@pytest.mark.parametrize(
    "problem", [UserError("unknown model xs-2.1; choose from: nano"), ValueError("a damaged catalogue")]
)
async def test_a_download_that_cannot_even_be_begun_is_told_and_the_same_key_tries_again(problem):
    model_setup = ScriptedModelSetup()
    model_setup.closed = problem
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await opened(app, pilot, "enter")
        await until(pilot, lambda: stage(app) is DownloadStage.FAILED)
        assert str(problem) in app.models.download.problem
        model_setup.closed = None
        model_setup.go_on.set()
        await pilot.press("enter")
        await until(pilot, lambda: stage(app) is DownloadStage.READY)


async def test_the_screen_waits_for_no_download_that_is_slow_to_begin():
    model_setup = ScriptedModelSetup()
    model_setup.opens.clear()
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await opened(app, pilot, "enter", "escape")
        await ask(app, pilot, "hello")
        assert not model_setup.fetched
        app.models.download.pause()
        model_setup.opens.set()
        # The pause counts although there was nothing yet to pause.
        await until(pilot, lambda: stage(app) is DownloadStage.PAUSED)
        assert model_setup.fetched == ["xs-2.1"]


async def test_the_screen_waits_for_no_file_that_is_thrown_away():
    model_setup = ScriptedModelSetup()
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await opened(app, pilot, "enter", "p")
        await until(pilot, lambda: stage(app) is DownloadStage.PAUSED)
        model_setup.opens.clear()
        await pilot.press("x", "enter", "escape")
        await ask(app, pilot, "hello")
        assert not model_setup.discarded
        model_setup.opens.set()
        await until(pilot, lambda: stage(app) is DownloadStage.NOTHING and app.hint_bar.download == "")
        # Enter began nothing while the files were on their way out.
        assert (model_setup.discarded, model_setup.fetched) == (["xs-2.1"], ["xs-2.1"])


async def test_what_was_begun_in_an_earlier_session_goes_on():
    model_setup = ScriptedModelSetup(replace(OFFER, have=7_000_000_000))
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await opened(app, pilot)
        assert "7.0 GB of 21.0 GB here" in screen(app)
        assert "resume the download" in screen(app)


async def test_offline_nothing_is_offered_and_no_key_fetches():
    model_setup = ScriptedModelSetup(replace(OFFER, offline=True))
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await opened(app, pilot, "enter")
        assert "Offline mode: nothing is downloaded." in screen(app)
        assert not model_setup.fetched


async def test_a_machine_for_small_models_only_is_told_so_honestly():
    model_setup = ScriptedModelSetup(NONE)
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await opened(app, pilot, "enter")
        assert "runs only small models" in screen(app)
        assert not model_setup.fetched


async def test_a_model_of_the_list_that_is_not_here_leads_to_its_download():
    model_setup = ScriptedModelSetup()
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await ready(app, pilot)
        await pilot.press("f7")
        await until(pilot, lambda: "Laguna Big" in screen(app))
        await pilot.press("down", "down", "down", "enter")
        await until(pilot, lambda: "21.0 GB to download" in screen(app))


async def test_leaving_pauses_the_download():
    model_setup = ScriptedModelSetup()
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await opened(app, pilot, "enter")
        await until(pilot, lambda: "33 %" in screen(app))
        await pilot.press("ctrl+q")
    assert stage(app) is DownloadStage.PAUSED


async def test_without_a_model_setup_nothing_is_set_up():
    async with running(session()) as (app, pilot):
        await ready(app, pilot)
        await pilot.press("f8")
        await until(pilot, lambda: "Setup is not available" in screen(app))


async def downloading(app, pilot, model_setup):
    await opened(app, pilot, "enter")
    await until(pilot, lambda: "33 %" in screen(app) and "33 %" in app.hint_bar.download)


async def paused(app, pilot, model_setup):
    await downloading(app, pilot, model_setup)
    await pilot.press("p")
    await until(pilot, lambda: "Paused" in screen(app) and app.hint_bar.download.startswith("paused"))


async def failed(app, pilot, model_setup):
    await opened(app, pilot, "enter")
    await until(pilot, lambda: "cannot be" in screen(app) and "says why" in app.hint_bar.download)


async def whole(app, pilot, model_setup):
    model_setup.go_on.set()
    await opened(app, pilot, "enter")
    await until(pilot, lambda: "is downloaded." in screen(app) and "switches" in app.hint_bar.download)


async def behind(app, pilot, model_setup):
    await downloading(app, pilot, model_setup)
    await pilot.press("escape")
    await until(pilot, lambda: len(app.screen_stack) == 1)


async def found(app, pilot, model_setup):
    await opened(app, pilot)


@pytest.mark.parametrize("size", [(80, 24), (40, 24)])
@pytest.mark.parametrize("moment", [found, downloading, paused, failed, whole, behind])
def test_setting_up(snap_compare, moment, size: tuple[int, int]) -> None:
    model_setup = ScriptedModelSetup(OFFER, *([STALLED] if moment is failed else []))

    async def shown(pilot) -> None:
        await moment(pilot.app, pilot, model_setup)

    assert snap_compare(StillApp(session(), "laguna-dark", model_setup), terminal_size=size, run_before=shown)


@pytest.mark.parametrize("offer", [NONE, replace(OFFER, offline=True)], ids=["small", "offline"])
def test_nothing_to_get(snap_compare, offer) -> None:
    model_setup = ScriptedModelSetup(offer)

    async def shown(pilot) -> None:
        await opened(pilot.app, pilot)

    assert snap_compare(StillApp(session(), "laguna-dark", model_setup), terminal_size=(80, 24), run_before=shown)


async def test_its_letters_count_in_either_case():
    model_setup = ScriptedModelSetup()
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await opened(app, pilot, "enter", "P")
        await until(pilot, lambda: "Paused 33 %" in screen(app))
        await pilot.press("X")
        await until(pilot, lambda: model_setup.discarded == ["xs-2.1"])
        await pilot.press("Q")
        await until(pilot, lambda: len(app.screen_stack) == 1)


async def test_what_is_typed_while_it_is_open_goes_to_the_input_and_downloads_nothing():
    model_setup = ScriptedModelSetup()
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await opened(app, pilot)
        for letter in "what is x?":
            app.screen.post_message(events.Key({" ": "space", "?": "question_mark"}.get(letter, letter), letter))
        app.screen.post_message(events.Key("enter", None))
        await until(pilot, lambda: app.session.chat.asked == ["what is x?"])
        assert len(app.screen_stack) == 1
        assert model_setup.fetched == []


@pytest.mark.parametrize("later", range(1, 6))
async def test_no_letter_overtakes_another_while_the_screen_closes(monkeypatch: pytest.MonkeyPatch, later: int):
    # Longer than this test takes to send its keys, however busy the machine is.
    monkeypatch.setattr("laguna_tui.tui.typed_text._WAIT_S", 1.0)
    async with running(session(), model_setup=ScriptedModelSetup()) as (app, pilot):
        await opened(app, pilot)
        box = app.screen.focused
        for place, letter in enumerate("where"):
            # The screen still has two keys to read when the next ones come from the terminal.
            (box if place < 3 else app).post_message(events.Key(letter, letter))
            if place in (0, 2):
                for _ in range(later if place == 0 else later // 2):
                    await asyncio.sleep(0)
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await pilot.pause(0.5)
        assert app.query_one(PromptInput).text == "where"


async def test_what_reaches_the_screen_whenever_it_looks_for_more_keys_does_not_keep_it_open(
    monkeypatch: pytest.MonkeyPatch,
):
    set_timer = SetupScreen.set_timer
    async with running(session(), model_setup=ScriptedModelSetup()) as (app, pilot):
        await opened(app, pilot)
        box = app.screen.focused

        def crowded(self, delay, callback):
            def call():
                box.call_later(lambda: None)
                callback()

            return set_timer(self, delay, call)

        monkeypatch.setattr(SetupScreen, "set_timer", crowded)
        app.post_message(events.Paste("where is x?"))
        await until(pilot, lambda: len(app.screen_stack) == 1 and app.query_one(PromptInput).text == "where is x?")


@pytest.mark.parametrize("word", ["please", "explain", "who"])
async def test_a_key_without_a_meaning_here_begins_a_message(word: str):
    async with running(session(), model_setup=ScriptedModelSetup()) as (app, pilot):
        await opened(app, pilot)
        await pilot.press(*word)
        await until(pilot, lambda: len(app.screen_stack) == 1 and app.query_one(PromptInput).text == word)


async def test_a_paste_over_it_goes_to_the_input():
    async with running(session(), model_setup=ScriptedModelSetup()) as (app, pilot):
        await opened(app, pilot)
        app.post_message(events.Paste("where is x?"))
        await until(pilot, lambda: len(app.screen_stack) == 1 and app.query_one(PromptInput).text == "where is x?")


async def test_models_of_other_programs_are_looked_for_on_the_users_wish_alone():
    app_session = session()
    app_session.models.found = [replace(CHOICES[1], name="http://127.0.0.1:11434/v1#qwen3", title="qwen3")]
    async with running(app_session, model_setup=ScriptedModelSetup()) as (app, pilot):
        await opened(app, pilot)
        assert app_session.models.looked == 0
        await pilot.press("f12")
        await until(pilot, lambda: "qwen3" in screen(app))
        assert app_session.models.looked == 1
        await pilot.press("enter")
        await until(pilot, lambda: app_session.models.switched == ["http://127.0.0.1:11434/v1#qwen3"])
