"""The setup screen: this machine, downloading the model while chatting, and switching to it."""

from dataclasses import replace

import pytest
from textual.widgets import Static

from laguna_engine.fit import devices
from laguna_engine.fit.devices import simulated_machine
from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import Settings
from laguna_tui.models.catalogue import NotDownloadedError, load_catalogue
from laguna_tui.models.model_setup import ModelSetup
from laguna_tui.models.store import Store
from laguna_tui.session.values import OtherModels
from laguna_tui.tui.models.background_download import DownloadStage
from tests.tui.models.test_model_picker import CHOICES
from tests.tui.pilot import ask, ready, running, screen, transcript, until
from tests.tui.scripted import PlayedSession
from tests.tui.scripted_model_setup import OFFER, STALLED, ScriptedModelSetup
from tests.tui.test_snapshots import StillApp

SLOW = replace(
    OFFER,
    recommended=False,
    slow=True,
    why="It runs on the CPU with 32 K tokens of context. At this speed answers come slower than you read them.",
    rate=3.2,
)


def session():
    return PlayedSession(title="Laguna Nano", models=CHOICES)


async def opened(app, pilot, *keys):
    """The setup screen, and these keys pressed in it."""
    await ready(app, pilot)
    await pilot.press("f8")
    await until(pilot, lambda: "This machine" in screen(app))
    await pilot.press(*keys)


def stage(app):
    return app.models.download.stage


async def test_one_key_downloads_while_one_chats_and_one_key_switches():
    model_setup = ScriptedModelSetup()
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await opened(app, pilot, "enter", "y")
        await until(pilot, lambda: "33 %" in screen(app) and "42.0 MB/s" in screen(app))
        await pilot.press("escape")
        await ask(app, pilot, "hello")
        assert app.session.chat.asked == ["hello"]
        assert "33 %" in screen(app)
        model_setup.go_on.set()
        await until(pilot, lambda: "/setup switches to it" in screen(app))
        await pilot.press("f8")
        await until(pilot, lambda: app.session.models.switched == ["xs-2.1"])
        await ready(app, pilot)
        assert "hello" in transcript(app)
        assert "/setup" not in app.hint_bar.download
        assert model_setup.fetched == ["xs-2.1"]


async def test_it_is_paused_and_goes_on_with_the_same_key():
    model_setup = ScriptedModelSetup()
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await opened(app, pilot, "enter", "y", "p")
        await until(pilot, lambda: "Paused 33 %" in screen(app))
        model_setup.go_on.set()
        await pilot.press("enter")
        await until(pilot, lambda: "Laguna XS 2.1 is downloaded." in screen(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.session.models.switched == ["xs-2.1"])


async def test_an_error_is_told_and_the_same_key_goes_on():
    model_setup = ScriptedModelSetup(OFFER, STALLED, None)
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await opened(app, pilot, "enter", "y")
        await until(pilot, lambda: "cannot be" in screen(app))
        await pilot.press("escape")
        await until(pilot, lambda: "/setup says why" in screen(app))
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
        await opened(app, pilot, "enter", "y")
        await until(pilot, lambda: "33 %" in screen(app))
        if paused:
            await pilot.press("p")
            await until(pilot, lambda: "Paused" in screen(app))
        await pilot.press("x")
        await until(pilot, lambda: stage(app) is DownloadStage.NOTHING and "21.0 GB; 90.0 GB free" in screen(app))
        assert model_setup.discarded == (["xs-2.1"] if paused else [])
        await until(pilot, lambda: app.hint_bar.download == "")


@pytest.mark.parametrize(
    "problem", [UserError("unknown model xs-2.1; choose from: nano"), ValueError("a damaged catalogue")]
)
async def test_a_download_that_cannot_even_be_begun_is_told_and_the_same_key_tries_again(problem):
    model_setup = ScriptedModelSetup()
    model_setup.closed = problem
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await opened(app, pilot, "enter", "y")
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
        await opened(app, pilot, "enter", "y", "escape")
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
        await opened(app, pilot, "enter", "y", "p")
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
        assert "resume …" in screen(app)


async def test_offline_nothing_is_offered_and_no_key_fetches():
    model_setup = ScriptedModelSetup(replace(OFFER, offline=True))
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await opened(app, pilot, "enter", "y")
        assert "Offline mode: nothing is downloaded." in screen(app)
        assert not model_setup.fetched


async def test_a_large_download_is_confirmed_with_a_second_key_that_names_the_size_and_the_free_disk():
    model_setup = ScriptedModelSetup()
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await opened(app, pilot, "enter", "enter")
        asked = "Download 21.0 GB to /home/user/.local/share/laguna-tui/models? 90.0 GB are free on that disk."
        await until(pilot, lambda: asked in app.screen._text.visual.plain)
        assert not model_setup.fetched
        await pilot.press("n")
        await until(pilot, lambda: "download it …" in screen(app))
        await pilot.press("y")
        assert not model_setup.fetched
        await pilot.press("enter", "escape")
        await until(pilot, lambda: "download it …" in screen(app))
        assert len(app.screen_stack) == 2
        await pilot.press("enter", "y")
        await until(pilot, lambda: model_setup.fetched == ["xs-2.1"])


async def test_a_small_download_begins_with_one_key():
    model_setup = ScriptedModelSetup(replace(OFFER, size=400_000_000))
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await opened(app, pilot, "enter")
        await until(pilot, lambda: model_setup.fetched == ["xs-2.1"])


async def test_what_does_not_fit_on_the_disk_is_not_begun():
    model_setup = ScriptedModelSetup(replace(OFFER, free=5_000_000_000, has_room=False))
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await opened(app, pilot, "enter", "y")
        assert "No room for it in /home/user/.local/share/laguna-tui/models." in screen(app)
        assert not model_setup.fetched


async def test_a_slow_model_is_not_recommended_and_can_be_had_all_the_same():
    model_setup = ScriptedModelSetup(SLOW)
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await opened(app, pilot)
        assert "Not recommended for this machine" in screen(app)
        assert "about 3.2 tok/s" in screen(app)
        await pilot.press("enter", "y")
        await until(pilot, lambda: model_setup.fetched == ["xs-2.1"])


async def test_kv_types_and_drafters_are_details():
    async with running(session(), model_setup=ScriptedModelSetup()) as (app, pilot):
        await opened(app, pilot)
        assert "drafter" not in screen(app)
        await pilot.press("d")
        await until(pilot, lambda: "drafter: on. It takes 0.9 GiB." in screen(app))


async def test_every_key_shows_in_a_small_terminal():
    async with running(session(), size=(40, 24), model_setup=ScriptedModelSetup(SLOW)) as (app, pilot):
        await opened(app, pilot)
        for key in ("Enter download it anyway …", "F7 another model", "F12 models", "D details", "Esc close"):
            await until(pilot, lambda key=key: key in screen(app))


async def test_a_model_of_the_list_that_is_not_here_leads_to_its_download():
    model_setup = ScriptedModelSetup()
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await ready(app, pilot)
        await pilot.press("f7")
        await until(pilot, lambda: "Laguna Big" in screen(app))
        await pilot.press("down", "down", "down", "enter")
        await until(pilot, lambda: "21.0 GB; 90.0 GB free" in screen(app))


async def test_leaving_pauses_the_download():
    model_setup = ScriptedModelSetup()
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await opened(app, pilot, "enter", "y")
        await until(pilot, lambda: "33 %" in screen(app))
        await pilot.press("ctrl+q")
    assert stage(app) is DownloadStage.PAUSED


async def test_without_a_model_setup_nothing_is_set_up():
    async with running(session()) as (app, pilot):
        await ready(app, pilot)
        await pilot.press("f8")
        await until(pilot, lambda: "Setup is not available" in screen(app))


async def downloading(app, pilot, model_setup):
    await opened(app, pilot, "enter", "y")
    await until(pilot, lambda: "33 %" in screen(app) and "33 %" in app.hint_bar.download)


async def paused(app, pilot, model_setup):
    await downloading(app, pilot, model_setup)
    await pilot.press("p")
    await until(pilot, lambda: "Paused" in screen(app) and app.hint_bar.download.startswith("paused"))


async def failed(app, pilot, model_setup):
    await opened(app, pilot, "enter", "y")
    await until(pilot, lambda: "cannot be" in screen(app) and "says why" in app.hint_bar.download)


async def whole(app, pilot, model_setup):
    model_setup.go_on.set()
    await opened(app, pilot, "enter", "y")
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


@pytest.mark.parametrize("offer", [SLOW, replace(OFFER, offline=True)], ids=["slow", "offline"])
def test_nothing_to_get(snap_compare, offer) -> None:
    model_setup = ScriptedModelSetup(offer)

    async def shown(pilot) -> None:
        await opened(pilot.app, pilot)

    assert snap_compare(StillApp(session(), "laguna-dark", model_setup), terminal_size=(80, 24), run_before=shown)


async def test_its_letters_count_in_either_case():
    model_setup = ScriptedModelSetup()
    async with running(session(), model_setup=model_setup) as (app, pilot):
        await opened(app, pilot, "enter", "y", "P")
        await until(pilot, lambda: "Paused 33 %" in screen(app))
        await pilot.press("X")
        await until(pilot, lambda: model_setup.discarded == ["xs-2.1"])
        await pilot.press("Q")
        await until(pilot, lambda: len(app.screen_stack) == 1)


async def test_models_of_other_programs_are_looked_for_on_the_users_wish_alone():
    app_session = session()
    qwen = replace(CHOICES[1], name="http://127.0.0.1:11434/v1#qwen3", title="qwen3")
    app_session.models.found = OtherModels((qwen,), {"it is empty": ("a", "b", "c", "d", "e")})
    async with running(app_session, model_setup=ScriptedModelSetup()) as (app, pilot):
        await opened(app, pilot)
        assert app_session.models.looked == 0
        await pilot.press("f12")
        await until(pilot, lambda: "qwen3" in screen(app))
        assert "Left out a, b, c and 2 more: it is empty." in screen(app)
        assert app_session.models.looked == 1
        await pilot.press("enter")
        await until(pilot, lambda: app_session.models.switched == ["http://127.0.0.1:11434/v1#qwen3"])


async def test_the_list_of_other_programs_says_where_it_looked_and_what_to_do():
    async with running(session()) as (app, pilot):
        await ready(app, pilot)
        await pilot.press("f12")
        await until(pilot, lambda: "Nothing found." in screen(app))
        assert app.screen.query_one(Static).visual.plain == (
            "Nothing found. Searched: Ollama (port 11434), /home/user/.ollama/models. Start one of these programs and "
            "look again, or open a file: /model FILE.gguf"
        )


async def test_a_model_that_is_named_and_not_downloaded_leads_to_its_download():
    app_session = session()
    app_session.models.error = NotDownloadedError(load_catalogue()["xs-2.1"])
    async with running(app_session, model_setup=ScriptedModelSetup()) as (app, pilot):
        await ready(app, pilot)
        app.prompt.replace_text("/model xs-2.1")
        await pilot.press("enter")
        await until(pilot, lambda: "This machine" in screen(app))


MACHINES = {"4": "4GB ram-16GB", "8": "8GB ram-16GB", "16": "16GB ram-32GB", "24": "24GB desktop"}


@pytest.mark.parametrize("size", [(80, 24), (200, 50), (40, 24)])
@pytest.mark.parametrize("memory", MACHINES)
def test_described_machines(snap_compare, monkeypatch, tmp_path, memory: str, size: tuple[int, int]) -> None:
    """The model for a card of this memory, and what else suits it."""
    monkeypatch.setattr(devices, "read_machine", lambda: simulated_machine(MACHINES[memory]))
    monkeypatch.setattr("laguna_tui.models.model_setup.free_bytes", lambda folder: OFFER.free)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    async def shown(pilot) -> None:
        await opened(pilot.app, pilot)

    app = StillApp(session(), "laguna-dark", ModelSetup(Settings(), Store(tmp_path)))
    assert snap_compare(app, terminal_size=size, run_before=shown)


async def test_a_file_without_a_pinned_hash_says_so_before_its_download():
    async with running(session(), model_setup=ScriptedModelSetup(replace(OFFER, pinned=False))) as (app, pilot):
        await opened(app, pilot, "enter")
        await until(pilot, lambda: "vouches for this file." in screen(app))


async def test_another_model_is_chosen_from_the_list():
    async with running(session(), model_setup=ScriptedModelSetup()) as (app, pilot):
        await opened(app, pilot, "f7")
        await until(pilot, lambda: "Models" in screen(app) and CHOICES[0].title in screen(app))
