"""Side questions: shown apart from the conversation, at once or after the turn that runs."""

import threading

from laguna_tui.tui.transcript.selection import last_answer
from tests.scripted_model import Script, hold, say
from tests.tui.pilot import ask, ready, running, screen, transcript, until

ASIDES = {"This is a side question": "It is **two**.\n\n- really\n- two"}


async def test_the_answer_is_shown_apart_and_is_not_the_last_answer(chat) -> None:
    async with running(chat(Script(["Hello."], asides=ASIDES))) as (app, pilot):
        await ask(app, pilot, "hi")
        used = app.status_bar.status.used
        await ask(app, pilot, "/btw what is 1 + 1?")
        await until(pilot, lambda: "Not part of" in transcript(app))
        assert transcript(app).splitlines()[-6:] == [
            "┊ what is 1 + 1?",
            "┊ It is two.",
            "┊",
            "┊ • really",
            "┊ • two",
            "┊ Not part of the conversation: the model does not know of it afterwards.",
        ]
        assert last_answer(app.document) == "Hello."
        assert app.session.parts.agent.conversation.size < used + 10


async def test_it_waits_for_the_turn_that_runs(chat) -> None:
    gate = threading.Event()
    async with running(chat(Script([say("Wait", hold(gate), "Done")], asides=ASIDES), speculation="off")) as (
        app,
        pilot,
    ):
        await ready(app, pilot)
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "Wait" in transcript(app))
        app.prompt.replace_text("/btw what is 1 + 1?")
        await pilot.press("enter")
        await until(pilot, lambda: "Your side question is answered when this is done." in screen(app))
        gate.set()
        await until(pilot, lambda: "Not part of" in transcript(app))
        shown = transcript(app)
        assert shown.index("Done") < shown.index("written") < shown.index("what is 1 + 1?")
