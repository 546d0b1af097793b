"""Paths in the transcript: which can be opened, how the focus reaches them, and what opens them."""

import os
from pathlib import Path

import pytest
from textual import events

from laguna_tui.base.errors import UserError
from laguna_tui.base.external_editor import editor_command
from laguna_tui.tui.file_screen import FileScreen
from laguna_tui.tui.transcript.entries import FilePlace
from laguna_tui.tui.transcript.file_links import mentions
from tests.scripted_model import call, say
from tests.tui.pilot import ask, running, screen, until

ANSWER = (
    "The total is in `src/cart.py:12`, not in src/none.py:3.\n\n- README.md\n- ../outside.py:1 and https://x.org/a.py"
)


@pytest.fixture(autouse=True)
def no_editor(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def project(chat: object, tmp_path: Path) -> Path:
    """The folder of `chat`, with files."""
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "cart.py").write_text("\n".join(f"line_{number} = {number}" for number in range(1, 61)) + "\n")
    (folder / "README.md").write_text("# Shop\n")
    (tmp_path / "outside.py").write_text("x\n")
    return folder


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see src/cart.py:12.", [("src/cart.py", 12)]),
        ("src/cart.py:12:5: error", [("src/cart.py", 12)]),
        ("(`cart.py:10-40`)", [("cart.py", 10)]),
        ('  File "/srv/src/cart.py", line 7, in total', [("/srv/src/cart.py", 7)]),
        ('read("cache/prefix.py", start=41, end=60)', [("cache/prefix.py", 41)]),
        ("at total (src/cart.js:3:1)", [("src/cart.js", 3)]),
        ("src/cart.py#L12 and Makefile:3", [("src/cart.py", 12), ("Makefile", 3)]),
        ("@src/cart.py", [("src/cart.py", 0)]),
        ("it took 0.25 s, at 12:30 or 3/4", []),
        ("https://example.org/a/b.py:1", []),
        ("a word. Another one", []),
    ],
)
def test_what_looks_like_a_path(text: str, found: list[tuple[str, int]]) -> None:
    assert [place for *_, place in mentions(text)] == [FilePlace(*each) for each in found]


async def test_the_focus_goes_from_file_to_file_and_enter_shows_it_at_its_line(chat, project: Path) -> None:
    async with running(chat(ANSWER), size=(80, 30)) as (app, pilot):
        await ask(app, pilot, "q")
        await pilot.press("ctrl+up", "N")
        await until(pilot, lambda: app.transcript._link is not None)
        assert app.transcript._link.place == FilePlace("README.md")
        await pilot.press("N")
        await until(pilot, lambda: app.transcript._link.place == FilePlace("src/cart.py", 12))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, FileScreen) and "▌  12  line_12 = 12" in screen(app))
        assert "src/cart.py · 60 lines" in screen(app)
        await pilot.press("y")
        assert app.clipboard == "line_12 = 12"
        await pilot.press("slash", *"LINE_5", "enter", "n", "y")
        assert app.clipboard == "line_51 = 51"
        await pilot.press("N", "N", "y")
        assert app.clipboard == "line_5 = 5"
        await pilot.press("slash", *"zzz", "enter")
        missing = "“zzz” is not in this file. / searches for something else."
        await until(pilot, lambda: missing in {note.message for note in app._notifications})
        await pilot.press("escape")
        assert app.transcript.has_focus
        await pilot.press("n")
        await until(pilot, lambda: app.transcript._link.place == FilePlace("README.md"))
        await pilot.press("n")
        end = "No more files of this folder are named below. N goes up."
        await until(pilot, lambda: end in {note.message for note in app._notifications})


async def test_a_ctrl_click_opens_a_path_and_nothing_outside_the_folder(chat, project: Path) -> None:
    async with running(chat(ANSWER), size=(80, 30)) as (app, pilot):
        await ask(app, pilot, "q")
        rows = screen(app).split("\n")
        for text in ("none.py", "outside.py", "x.org", "README.md"):
            y = next(number for number, row in enumerate(rows) if text in row)
            x = rows[y].index(text) + 1
            app.post_message(events.MouseDown(None, x, y, 0, 0, 1, False, False, True, x, y))
            await pilot.pause()
            await app.workers.wait_for_complete()
            await pilot.pause()
            assert text == "README.md" or len(app.screen_stack) == 1
        await until(pilot, lambda: "# Shop" in screen(app))


async def test_a_tool_row_and_its_output_name_files_too(chat, project: Path) -> None:
    session = chat(say(call("read", path="src/cart.py", offset=3, limit=2)), "Done.")
    async with running(session, size=(80, 30)) as (app, pilot):
        await ask(app, pilot, "q")
        await pilot.press("ctrl+up", "up", "o")
        await until(pilot, lambda: isinstance(app.screen, FileScreen))
        assert "▌   3  line_3 = 3" in screen(app)


async def test_a_file_that_a_turn_creates_can_be_opened_after_it(chat, project: Path) -> None:
    async with running(chat("Look at new.py:1", "ok"), size=(80, 30)) as (app, pilot):
        await ask(app, pilot, "q")
        await pilot.press("ctrl+up", "o")
        none = "This block names no file of the folder. n goes to the next path that does."
        await until(pilot, lambda: none in {note.message for note in app._notifications})
        (project / "new.py").write_text("created\n")
        await pilot.press("i")
        await ask(app, pilot, "again")
        await pilot.press("ctrl+up", "N")
        await until(pilot, lambda: app.transcript._link is not None)
        (project / "new.py").unlink()
        await pilot.press("o")
        gone = "new.py is not a file of this folder now, so it was not opened."
        await until(pilot, lambda: gone in {note.message for note in app._notifications})


async def test_links_out_of_the_folder_and_names_with_control_characters_are_no_files(chat, project: Path) -> None:
    (project / "out.py").symlink_to(project.parent / "outside.py")
    (project / "in.py").symlink_to("README.md")
    (project / "bad\x1b.py").touch()
    os.mkfifo(project / "pipe.py")
    async with running(chat("x"), size=(80, 30)) as (app, _):
        locate = app.files._locate
        paths = (
            "out.py",
            "bad\x1b.py",
            "bad\\x1b.py",
            "pipe.py",
            "src",
            "../outside.py",
            "..",
            "",
            ".git/config",
            "a\0b",
        )
        assert [locate(path) for path in paths] == [None] * len(paths)
        assert locate("in.py") == locate("./src/../README.md") == locate(f"{project}/README.md")


async def test_an_editor_with_a_window_is_started_beside_the_app(
    chat, project: Path, tmp_path: Path, monkeypatch
) -> None:
    code, started = project.parent / "code", project.parent / "started"
    code.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {started}\n')
    code.chmod(0o755)
    monkeypatch.setenv("VISUAL", f"{code} --reuse-window")
    async with running(chat(ANSWER)) as (app, pilot):
        await ask(app, pilot, "q")
        app.files.open(FilePlace("src/cart.py", 12))
        await until(pilot, started.exists)
        await app.workers.wait_for_complete()
    assert started.read_text() == f"--reuse-window\n--goto\n{project}/src/cart.py:12\n"


async def test_an_editor_that_is_not_there_is_named(chat, project: Path, monkeypatch) -> None:
    monkeypatch.setenv("EDITOR", "none-such")
    async with running(chat(ANSWER)) as (app, pilot):
        await ask(app, pilot, "q")
        app.files.open(FilePlace("src/cart.py", 12))
        missing = "The editor “none-such” was not found. Set $EDITOR, or editor in config.toml, to an installed one."
        await until(pilot, lambda: missing in {note.message for note in app._notifications})


FILE = Path("/srv/a b;$(x).py")


@pytest.mark.parametrize(
    ("setting", "environment", "words", "has_window"),
    [
        (None, {"EDITOR": "vim"}, ["vim", "+7", str(FILE)], False),
        (None, {"EDITOR": "nvim -R"}, ["nvim", "-R", "+7", str(FILE)], False),
        (None, {"VISUAL": "/usr/bin/emacs -nw", "EDITOR": "vi"}, ["/usr/bin/emacs", "-nw", "+7", str(FILE)], False),
        (None, {"EDITOR": "nano"}, ["nano", "+7", str(FILE)], False),
        (None, {"EDITOR": "hx"}, ["hx", f"{FILE}:7"], False),
        (None, {"EDITOR": "code --wait"}, ["code", "--wait", "--goto", f"{FILE}:7"], True),
        (None, {"EDITOR": "zed"}, ["zed", f"{FILE}:7"], True),
        (None, {"EDITOR": "subl"}, ["subl", f"{FILE}:7"], True),
        (None, {"EDITOR": "ed"}, ["ed", str(FILE)], False),
        ("idea --line {line} {path}", {"EDITOR": "vi"}, ["idea", "--line", "7", str(FILE)], False),
        ("kate '{path}?line={line}'", {}, ["kate", f"{FILE}?line=7"], False),
    ],
)
def test_the_command_of_each_editor(
    setting: str | None, environment: dict[str, str], words: list[str], has_window: bool
) -> None:
    command = editor_command(FILE, 7, setting, environment)
    assert command is not None
    assert (list(command.words), command.has_window) == (words, has_window)


def test_without_an_editor_there_is_no_command() -> None:
    assert editor_command(FILE, 1, None, {"EDITOR": ""}) is None
    assert editor_command(FILE, 1, "none", {"EDITOR": "vi"}) is None
    unreadable = 'The editor "vim \'" cannot be used: no closing quotation. Correct VISUAL or EDITOR.'
    with pytest.raises(UserError) as raised:
        editor_command(FILE, 1, None, {"EDITOR": "vim '"})
    assert str(raised.value) == unreadable
