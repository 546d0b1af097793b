"""Vim's keys in the input. In the tables, `|` is the cursor."""

import pytest

from laguna_tui.tui.prompt.vim import Vim, VimChange, VimMode
from tests.tui.pilot import ask, questions, ready, running, screen, until


def applied(vim: Vim, change: VimChange | None, text: str, at: int) -> tuple[str, int]:
    if change is None or change.action:
        return text, at
    if change.text is not None:
        text = text[: change.start] + change.text + text[change.end :]
    return text, change.cursor


def typed(before: str, keys: str) -> tuple[str, Vim]:
    """Type in normal mode, `^[` for Esc; letters are inserted in insert mode."""
    vim = Vim()
    at = before.index("|")
    text = before.replace("|", "")
    vim.escape(text, at + 1)
    while keys:
        if keys.startswith("^["):
            keys = keys[2:]
            text, at = applied(vim, vim.escape(text, at), text, at)
            continue
        key, keys = keys[0], keys[1:]
        if vim.mode is VimMode.INSERT:
            text, at = text[:at] + key + text[at:], at + 1
        else:
            text, at = applied(vim, vim.key(key, text, at), text, at)
    return f"{text[:at]}|{text[at:]}", vim


@pytest.mark.parametrize(
    ("before", "keys", "after"),
    [
        # Motions.
        ("one |two three", "h", "one| two three"),
        ("|one two", "3l", "one| two"),
        ("|one", "9l", "on|e"),
        ("|one two.three", "w", "one |two.three"),
        ("|one two.three", "2w", "one two|.three"),
        ("|one two.three", "2W", "one two.thre|e"),
        ("one two.thr|ee", "b", "one two.|three"),
        ("one two.thr|ee", "B", "one |two.three"),
        ("|one two", "e", "on|e two"),
        ("|one two", "2e", "one tw|o"),
        ("  on|e", "0", "|  one"),
        ("  on|e", "^", "  |one"),
        ("|one two", "$", "one tw|o"),
        ("one\n  t|wo\nthree", "gg", "|one\n  two\nthree"),
        ("|one\n  two\n  three", "G", "one\n  two\n  |three"),
        ("|one\n  two\nthree", "2G", "one\n  |two\nthree"),
        ("on|e\nt\nthree", "j", "one\n|t\nthree"),
        ("one\nt\nthr|ee", "2k", "on|e\nt\nthree"),
        ("|one two three", "ft", "one |two three"),
        ("|one two three", "2ft", "one two |three"),
        ("|one two three", "tt", "one| two three"),
        ("one two th|ree", "Fo", "one tw|o three"),
        ("one two th|ree", "To", "one two| three"),
        ("|one two three", "ft;", "one two |three"),
        ("|one two three", "ft;,", "one |two three"),
        ("|one", "fz", "|one"),
        # Deleting.
        ("o|ne", "x", "o|e"),
        ("on|e", "x", "o|n"),
        ("|one", "2x", "|e"),
        ("o|ne", "X", "|ne"),
        ("|one two three", "dw", "|two three"),
        ("|one two three", "d2w", "|three"),
        ("|one two three", "2dw", "|three"),
        ("one |two\nthree", "dw", "one| \nthree"),
        ("one |two", "db", "|two"),
        ("|one two", "de", "| two"),
        ("one |two", "d0", "|two"),
        ("one |two three", "D", "one| "),
        ("|one (two) three", "dt(", "|(two) three"),
        ("|one (two) three", "df)", "| three"),
        ("one t|wo three", "diw", "one | three"),
        ("one t|wo three", "daw", "one |three"),
        ("one\nt|wo\nthree", "dd", "one\n|three"),
        ("one\nt|wo", "dd", "|one"),
        ("o|ne", "dd", "|"),
        ("|one\ntwo\nthree", "2dd", "|three"),
        ("|one\ntwo\nthree", "dj", "|three"),
        ("one\ntwo\nth|ree", "dgg", "|"),
        # Changing.
        ("|one two", "cwsix^[", "si|x two"),
        ("one t|wo three", "ciw2^[", "one |2 three"),
        ("one\n  t|wo\nthree", "ccsix^[", "one\n  si|x\nthree"),
        ("one |two", "Csix^[", "one si|x"),
        ("|one", "sxy^[", "x|yne"),
        ("|one", "rx", "|xne"),
        ("|one", "2rx", "x|xe"),
        ("|one", "2~", "ON|e"),
        ("o|ne\n  two", "J", "one| two"),
        # Inserting.
        ("o|ne", "ix^[", "o|xne"),
        ("o|ne", "ax^[", "on|xe"),
        ("  o|ne", "Ix^[", "  |xone"),
        ("o|ne", "Ax^[", "one|x"),
        ("o|ne\ntwo", "ox^[", "one\n|x\ntwo"),
        ("one\nt|wo", "Ox^[", "one\n|x\ntwo"),
        # Copying.
        ("|one two", "yw$p", "one twoone| "),
        ("|one two", "ywP", "one| one two"),
        ("o|ne\ntwo", "yyp", "one\n|one\ntwo"),
        ("one\nt|wo", "yyP", "one\n|two\ntwo"),
        ("|one\ntwo", "ddp", "two\n|one"),
        ("|one", "x2p", "no|oe"),
        ("o|ne", "p", "o|ne"),
        # Selecting.
        ("|one two", "ved", "| two"),
        ("one t|wo", "viwy0P", "tw|oone two"),
        ("|one\ntwo\nthree", "Vjd", "|three"),
        ("on|e two", "vhcx^[", "o|x two"),
        ("|one two", "vlov^[x", "|ne two"),
        # What is not a command does nothing.
        ("o|ne", "dzqx", "o|e"),
        ("o|ne", "3^[x", "o|e"),
    ],
)
def test_keys_do_what_vim_does(before: str, keys: str, after: str) -> None:
    assert typed(before, keys)[0] == after


@pytest.mark.parametrize("key", [chr(code) for code in range(32, 127)])
def test_every_pair_of_keys_is_harmless_in_any_text(key: str) -> None:
    for text in ("|", "|a", "one t|wo\n\n  three", "a\n|"):
        for second in "wbedcyjkGgv0$%iap;,x":
            after, _ = typed(text, f"{key}{second}^[u")
            assert after.count("|") >= 1


async def test_the_mode_is_shown_and_keys_act_on_the_input(chat) -> None:
    async with running(chat("Hello."), vim=True) as (app, pilot):
        await ready(app, pilot)
        assert "─ INSERT ─" in screen(app)
        await pilot.press(*"one two", "escape")
        assert "─ NORMAL ─" in screen(app)
        await pilot.press("b", "d", "w")
        assert app.prompt.text == "one "
        await pilot.press("u")
        assert app.prompt.text == "one two"
        await pilot.press("ctrl+r")
        assert app.prompt.text == "one "
        await pilot.press("v", "0")
        assert "─ VISUAL ─" in screen(app)
        await pilot.press("d", "i", *"six", "escape", "enter")
        await until(pilot, lambda: questions(app) == ["six"])
        assert "─ INSERT ─" in screen(app), "the next message is typed at once"
        await pilot.press("escape", "k")
        assert app.prompt.text == "six", "above the first line is the history"


async def test_escape_in_normal_mode_means_what_it_always_means(chat) -> None:
    async with running(chat("Hello."), vim=True) as (app, pilot):
        await ask(app, pilot, "hello")
        stopped = []
        app.action_stop = lambda: stopped.append(1)
        await pilot.press("escape")
        assert not stopped
        await pilot.press("escape")
        assert stopped


async def test_a_command_turns_it_on_and_off(chat) -> None:
    async with running(chat()) as (app, pilot):
        for mode in ("INSERT", ""):
            app.prompt.replace_text("/vim")
            await pilot.press("enter")
            await until(pilot, lambda mode=mode: app.prompt.border_title == mode)


async def test_letters_that_come_at_once_are_commands_too(chat) -> None:
    async with running(chat(), vim=True) as (app, pilot):
        app.prompt.replace_text("one two")
        await pilot.press("escape")
        from textual import events

        from laguna_tui.tui.typed_text import TypedText

        app.post_message(TypedText([events.Key(each, each) for each in "bdw"]))
        await until(pilot, lambda: app.prompt.text == "one ")
