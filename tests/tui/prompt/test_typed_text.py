"""Text that arrives in one read of the terminal is inserted at once, and never answers a question as single keys do."""

import pytest
from textual import events
from textual.widgets.text_area import Edit

from laguna_tui.base.text import JOINER
from laguna_tui.tui.prompt.history_search import HistorySearch
from laguna_tui.tui.prompt.prompt_input import PromptInput
from laguna_tui.tui.terminal_parser import TerminalParser
from laguna_tui.tui.typed_text import TypedText, join_keys
from tests.tui.contexts import prompting
from tests.tui.pilot import ready, running, until
from tests.tui.scripted import PlayedSession, answer


def read(text: str) -> list[object]:
    """Messages of one read: a text for `TypedText`, else the key."""
    messages = join_keys(TerminalParser().feed(text))
    return [
        "".join(key.character or "" for key in message.keys) if isinstance(message, TypedText) else message.key
        for message in messages
        if isinstance(message, TypedText | events.Key)
    ]


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("a" * 8000, ["a" * 8000]),
        ("a", ["a"]),
        ("two words", ["two words"]),
        ("line\rnext one\x03", ["line", "enter", "next one", "ctrl+c"]),
        ("ab\x1b[Acd", ["ab", "up", "cd"]),
        (f"👩{JOINER}💻 é日", [f"👩{JOINER}💻 é日"]),
        ("می\u200cشود", ["می\u200cشود"]),
        ("", []),
    ],
)
def test_printable_keys_of_one_read_are_one_message(text: str, messages: list[object]) -> None:
    assert read(text) == messages


@pytest.fixture
def edits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is inserted into the input, one item for each insertion with its layout."""
    inserted: list[str] = []
    edit = PromptInput.edit

    def counted(self: PromptInput, change: Edit):
        inserted.append(change.text)
        return edit(self, change)

    monkeypatch.setattr(PromptInput, "edit", counted)
    return inserted


def session(**more: object) -> PlayedSession:
    return prompting(PlayedSession(answer("Done.")), **more)


def typed(text: str) -> TypedText:
    return TypedText([events.Key(letter, letter) for letter in text])


TEXT = "word " * 1600


async def test_a_long_text_is_one_insertion_and_can_be_cleared_at_once(edits: list[str]) -> None:
    async with running(session()) as (app, pilot):
        await ready(app, pilot)
        app.post_message(typed(TEXT))
        await pilot.press("ctrl+c")
        await until(pilot, lambda: app.prompt.text == "")
        assert edits == [TEXT]


async def test_it_goes_into_the_text_at_the_cursor(edits: list[str]) -> None:
    async with running(session()) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"ab", "left")
        app.post_message(typed("two words"))
        await pilot.press("c")
        assert app.prompt.text == "atwo wordscb"
        assert edits == ["a", "b", "two words", "c"]


async def test_what_is_typed_while_the_transcript_has_the_focus_is_one_insertion_too(edits: list[str]) -> None:
    async with running(session()) as (app, pilot):
        await ready(app, pilot)
        app.transcript.focus()
        app.post_message(typed(TEXT))
        await until(pilot, lambda: app.prompt.text)
        assert app.prompt.text == TEXT
        assert edits == [TEXT]


async def test_the_non_joiner_of_a_persian_keyboard_is_typed() -> None:
    async with running(session()) as (app, pilot):
        await ready(app, pilot)
        for letter in "می\u200cشود":
            app.post_message(events.Key(letter, letter))
        await until(pilot, lambda: app.prompt.text == "می\u200cشود")


async def test_another_input_gets_it_as_well() -> None:
    async with running(session()) as (app, pilot):
        await ready(app, pilot)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: isinstance(app.screen, HistorySearch))
        app.post_message(typed("find me"))
        await until(pilot, lambda: app.screen.query_one("Input").value == "find me")


async def test_a_list_gets_the_keys_one_by_one() -> None:
    async with running(session()) as (app, pilot):
        await ready(app, pilot)
        text = typed("jk")
        assert tuple(text.for_widget(app.transcript)) == text.keys
        assert tuple(text.for_widget(None)) == text.keys


async def test_a_key_in_a_long_text_without_a_mention_does_not_read_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text before the cursor and its completions are looked for only where an @ is near."""
    asked: list[str] = []

    def names(text: str, cursor: int) -> tuple[()]:
        asked.append(text)
        return ()

    counted: list[int] = []
    index = PromptInput.cursor_index
    monkeypatch.setattr(PromptInput, "cursor_index", property(lambda self: counted.append(1) or index.fget(self)))
    async with running(session(names=names)) as (app, pilot):
        await ready(app, pilot)
        app.prompt.replace_text("mail me@example.org\n" * 1000)
        await pilot.press(*"some", "left", "right")
        assert (asked, counted) == ([], [])
        await pilot.press("space", "@")
        await until(pilot, lambda: asked)
