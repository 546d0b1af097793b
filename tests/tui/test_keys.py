"""The user's own keys: `keys.toml`."""

import json
import re
from pathlib import Path

import pytest

from laguna_tui.cli.main import main
from laguna_tui.tui.help_screen import HelpScreen
from laguna_tui.tui.key_sections import key_sections
from laguna_tui.tui.keys import OwnKeys, key_names, parse_key, read_own_keys
from tests.tui.pilot import running, screen, until

BINDINGS = [each for bindings in key_sections().values() for each in bindings]


def read(folder: Path, text: str) -> OwnKeys:
    path = folder / "keys.toml"
    path.write_text(text, encoding="utf-8")
    return read_own_keys(path, BINDINGS)


@pytest.mark.parametrize(
    ("typed", "key", "shown"),
    [
        ("Ctrl+X", "ctrl+x", "Ctrl+X"),
        ("alt+Return", "alt+enter", "Alt+Enter"),
        ("PgUp", "pageup", "PgUp"),
        ("Shift+Ctrl+↑", "ctrl+shift+up", "Ctrl+Shift+↑"),
        ("F12", "f12", "F12"),
        ("G", "G", "G"),
        ("ctrl+_", "ctrl+underscore", "Ctrl+_"),
        ("ctlr+x", None, ""),
        ("F99", None, ""),
    ],
)
def test_a_key_is_written_as_the_screen_shows_it(typed: str, key: str | None, shown: str) -> None:
    assert parse_key(typed) == key
    assert key is None or key_names(key) == shown


def test_every_default_key_may_be_written_into_the_file() -> None:
    keys = [key for each in BINDINGS if each.id and each.key != "unbound" for key in each.key.split(",")]
    assert [parse_key(key_names(key)) for key in keys] == keys


def test_ids_are_unique() -> None:
    ids = [each.id for each in BINDINGS if each.id]
    assert len(ids) == len(set(ids)) > 50


def test_wrong_lines_are_reported_and_the_others_are_in_effect(tmp_path: Path) -> None:
    own = read(
        tmp_path,
        """
        [app]
        commit = "F10"
        help = "f2"
        speed = ""
        sped = "F3"
        copy = "x"
        redo = "Ctrl+Q"
        undo = 3
        [input]
        newline = ["Ctrl+J", "Alt+Enter"]
        undo = "Ctrl+I"
        send = "Entre"
        [fruit]
        apple = "F11"
        """,
    )
    assert own.keys == {
        "app.commit": "f10",
        "app.help": "f2",
        "app.speed": "unbound",
        "input.newline": "ctrl+j,alt+enter",
    }
    assert own.problems == (
        "keys.toml: [app] sped is not in effect: there is no such action (did you mean speed?). “laguna-tui keys”"
        " lists them.",
        "keys.toml: [app] copy is not in effect: “x” is needed for typing. Use it with Ctrl or Alt, or choose a"
        " function key.",
        'keys.toml: [app] undo is not in effect: a key is text such as "Ctrl+X", or a list of them.',
        "keys.toml: [input] undo is not in effect: most terminals send Tab for Ctrl+I. Choose another key.",
        "keys.toml: [input] send is not in effect: there is no key “Entre”. Keys are written like Ctrl+X, Alt+Enter,"
        " F5, PgUp.",
        "keys.toml: There is no table [fruit]; there are [app], [input], [transcript].",
        "keys.toml: [app] redo is not in effect: Ctrl+Q belongs to [app] quit. Give that another key too.",
    )


def test_keys_may_be_swapped(tmp_path: Path) -> None:
    own = read(tmp_path, '[app]\nspeed = "F3"\ntint = "F2"')
    assert (own.keys, own.problems) == ({"app.speed": "f3", "app.tint": "f2"}, ())


def test_a_file_that_is_not_toml_changes_no_key(tmp_path: Path) -> None:
    own = read(tmp_path, "[app\n")
    assert own.keys == {}
    assert own.problems == (
        f"{tmp_path}/keys.toml was not read, so all keys are the default ones: Expected ']' at the end of a table"
        " declaration (at line 1, column 5)",
    )


async def test_the_app_obeys_the_file_and_shows_its_keys(chat, tmp_path: Path) -> None:
    keys = read(tmp_path, '[app]\nhelp = "F10"\nnew = "Ctrl+Q"\n[input]\nsend = "Alt+Enter"\nnewline = "Enter"')
    async with running(chat(), keys=keys) as (app, pilot):
        assert "keys.toml: [app] new is not in effect" in screen(app)
        await pilot.press("a", "enter", "b")
        assert app.prompt.text == "a\nb"
        app.prompt.replace_text("")
        await pilot.press("f1")
        assert not isinstance(app.screen, HelpScreen)
        await pilot.press("/", "h")
        assert "All keys and commands, or a page of the manual · F10" in screen(app)
        await pilot.press("f10")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen) and "F10" in screen(app))


def test_the_command_prints_the_keys_in_effect(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr("laguna_tui.tui.key_sections.keys_path", lambda: tmp_path / "keys.toml")
    (tmp_path / "keys.toml").write_text('[app]\ncommit = "F10"\nhelp = "F7"\n', encoding="utf-8")
    assert main(["keys"]) == 1
    printed = capsys.readouterr()
    assert "\n  commit          F10      Commit, with a message that the model drafts (changed)\n" in re.sub(
        r" {2,}(?=Commit,)", "      ", printed.out
    )
    assert printed.err == (
        "laguna-tui: keys.toml: [app] help is not in effect: F7 belongs to [app] model. Give that another key too.\n"
    )
    assert main(["keys", "--json"]) == 1
    found = {row["action"]: row for row in json.loads(capsys.readouterr().out) if row["table"] == "app"}
    assert (found["commit"]["keys"], found["commit"]["default"]) == (["f10"], [])
    assert found["help"]["keys"] == ["f1"]
