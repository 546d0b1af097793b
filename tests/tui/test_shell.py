"""The user's own commands: `!` and `!!`."""

import pytest

from tests.tui.pilot import ask, questions, ready, running, screen, transcript, until


async def test_a_command_shows_its_output_and_its_exit_code(chat, tmp_path):
    async with running(chat()) as (app, pilot):
        await ask(app, pilot, "!echo hi; pwd; exit 3")
        await until(pilot, lambda: "Exit code 3" in transcript(app))
        shown = transcript(app)
        assert "echo hi; pwd; exit 3" in shown
        assert "│ hi" in shown
        assert (tmp_path / "project").name in shown.replace("\n│ ", "")
        assert not app.session.parts.agent.conversation.started


async def test_escape_stops_a_command_and_the_next_one_waits_for_nothing(chat):
    async with running(chat()) as (app, pilot):
        await ask(app, pilot, "!echo begun; sleep 60")
        await until(pilot, lambda: "│ begun" in transcript(app))
        await ask(app, pilot, "!echo two")
        await until(pilot, lambda: "Your last command is still running" in screen(app))
        assert app.prompt.text == "!echo two"
        await pilot.press("escape")
        await until(pilot, lambda: "Stopped after" in transcript(app))
        await pilot.press("enter")
        await until(pilot, lambda: "│ two" in transcript(app))


async def test_a_flood_shows_its_end_and_control_characters_do_nothing(chat):
    async with running(chat()) as (app, pilot):
        await ask(app, pilot, "!seq 5000; printf '\\033[2Jlast\\n'")
        await until(pilot, lambda: "Exit code 0" in transcript(app))
        shown = transcript(app)
        assert "lines before" in shown
        assert "last" in shown
        assert "\x1b" not in shown


async def test_an_exclamation_mark_alone_says_what_is_missing(chat):
    async with running(chat()) as (app, pilot):
        await ask(app, pilot, "!")
        await until(pilot, lambda: "There is no command" in transcript(app))


async def test_two_marks_tell_the_model_with_the_next_message(chat):
    def heard(seen):
        return f"I {'read' if 'forty-two' in seen.text else 'know nothing of'} it."

    async with running(chat(heard)) as (app, pilot):
        await ready(app, pilot)
        await ask(app, pilot, "!!echo forty-two")
        await until(pilot, lambda: "The model reads it with your next message" in transcript(app))
        await ask(app, pilot, "what did it say?")
        assert "I read it." in transcript(app)


@pytest.mark.parametrize(("typed", "title"), [("!ls", "your shell"), ("!!ls", "the model reads"), ("ls!", "")])
async def test_the_input_says_that_a_command_is_typed(chat, typed, title):
    async with running(chat()) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*typed)
        assert title in str(app.prompt.border_title or "")
        assert bool(app.prompt.border_title) == bool(title)


async def test_a_first_message_is_sent_once_the_model_is_ready(chat):
    from laguna_tui.tui.app import LagunaApp
    from laguna_tui.tui.tui_settings import TuiSettings

    app = LagunaApp(chat("Hello."), TuiSettings(state_dir=None, theme="laguna-dark"), None, "who are you?")
    async with app.run_test() as pilot:
        await until(pilot, lambda: "Hello." in transcript(app))
        assert questions(app) == ["who are you?"]
