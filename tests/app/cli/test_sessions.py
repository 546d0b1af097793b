"""`laguna-tui sessions`: what is listed, found, renamed, copied, deleted and exported."""

import io
import json
import stat
from pathlib import Path

import pytest

from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize
from laguna_tui.cli.main import command_parser, main
from laguna_tui.cli.session_options import chosen_session
from laguna_tui.store.events import TurnBegun
from laguna_tui.store.session_journal import SessionJournal
from tests.app.store.kept_sessions import HOSTILE, begun, kept


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The folder of the sessions, and a project that is the current folder."""
    for kind in ("CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path / "shop")
    return tmp_path / "state/laguna-tui/sessions"


@pytest.fixture
def sessions(place, capsys):
    """Runs a command; its exit code, and what it said on stdout and stderr."""

    def ran(*words):
        code = main(["sessions", *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return ran


def here(place):
    return str(place.parents[2] / "shop")


def test_without_sessions_it_explains_how_one_begins(sessions):
    assert sessions("list") == (0, "there are no saved sessions yet; your first message starts one\n", "")


def test_sessions_about_this_folder_are_listed_and_all_if_wanted(sessions, place):
    one = kept(place, ("message one", "x"), about=here(place))
    two = kept(place, ("message two", "x"), about="/farm")
    head, row = sessions("list")[1].splitlines()
    assert head.split() == ["ID", "LAST", "TURNS", "SIZE", "KV", "CACHE", "STATE", "TITLE"]
    assert row.startswith(one)
    assert row.endswith("closed  message one")
    said = sessions("list", "--all")[1]
    assert two in said
    assert "/farm" in said
    (record,) = json.loads(sessions("list", "--json")[1])
    assert (record["id"], record["title"], record["turns"]) == (one, "message one", 1)


def test_without_sessions_of_this_folder_it_explains_how_to_list_the_others(sessions, place):
    kept(place, ("message", "x"), about="/farm")
    assert "for the 1 of other folders: laguna-tui sessions list --all" in sessions("list")[1]


def test_search(sessions, place):
    one = kept(place, ("message", "the zeppelin flies"), about=here(place))
    assert sessions("search", "zep", "fl")[:2] == (0, f"{one}  message\n    message the zeppelin flies\n")
    assert json.loads(sessions("search", "zep", "--json")[1])[0]["id"] == one
    assert sessions("search", "epelin")[0] == 0
    code, said, _ = sessions("search", "nowhere")
    assert code == 1
    assert "nothing found" in said


def test_rename_and_fork(sessions, place):
    one = kept(place, ("message", "x"), about=here(place))
    assert sessions("rename", one, "New")[:2] == (0, f"{one} is now called 'New'\n")
    code, said, _ = sessions("fork", "new", "--title", "Other")
    copy = said.split()[2].rstrip(";")
    assert (code, said) == (0, f"'Other' is {copy}; to open it: laguna-tui --resume {copy}\n")
    assert {one, copy} == {each["id"] for each in json.loads(sessions("list", "--json")[1])}


def test_an_open_session_is_refused_with_what_to_do(sessions, place):
    journal = begun(place, ("message", "x"), about=here(place))
    assert "  open  " in sessions("list")[1]
    for words in (("rename", journal.id, "x"), ("delete", "--yes", journal.id)):
        code, _, said = sessions(*words)
        assert code == 2
        assert "is open in another laguna-tui; close it there, or open a copy of it" in said
    assert sessions("fork", journal.id)[0] == 0
    journal.close()


def test_unknown_and_ambiguous_names_say_what_there_is(sessions, place):
    one = kept(place, ("message one", "x"), about=here(place))
    kept(place, ("message two", "x"), about=here(place))
    for name, words in (("nothing", "no session is called 'nothing'; there are"), ("message", "several sessions")):
        code, _, said = sessions("export", name)
        assert code == 2
        assert words in said
        assert one in said


def chosen(*words):
    """The session that these options go on with."""
    arguments = command_parser().parse_args(words)
    return chosen_session(arguments, Path.cwd())


def test_fork_resumes_a_copy_of_the_chosen_session(sessions, place):
    journal = begun(place, ("message", "x"), about=here(place))
    assert chosen("-c") == journal.id
    for words in (("-c", "--fork"), ("--resume", journal.id, "--fork")):
        copy = chosen(*words)
        assert copy != journal.id
        assert "message (copy)" in {each["title"] for each in json.loads(sessions("list", "--json")[1])}
        assert sessions("delete", "--yes", copy)[0] == 0
    journal.close()


@pytest.mark.parametrize("words", [("--fork",), ("--resume", "--fork")])
def test_fork_needs_a_session(place, words):
    with pytest.raises(UserError) as error:
        chosen(*words)
    assert str(error.value) == (
        "--fork copies a session: add --resume SESSION or -c; in the list of sessions, fork the one to copy"
    )


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_delete_asks_on_a_terminal_and_needs_yes_without_one(sessions, place, monkeypatch):
    one = kept(place, ("message", "x"), about=here(place))
    code, _, said = sessions("delete", one)
    assert code == 2
    assert "--yes" in said
    for answer, code in (("\n", 1), ("no\n", 1), ("", 1), ("y\n", 0)):
        assert (place / one).exists()
        screen = Terminal()
        monkeypatch.setattr("sys.stdin", Terminal(answer))
        monkeypatch.setattr("sys.stderr", screen)
        assert sessions("delete", one)[0] == code
        assert "Delete permanently? [y/N]" in screen.getvalue()
        assert "message" in screen.getvalue()
    assert not (place / one).exists()


def test_delete_several_and_count_them(sessions, place):
    found = [kept(place, (f"message {number}", "x"), about=here(place)) for number in range(3)]
    code, said, _ = sessions("delete", "--yes", found[0], found[1], found[0])
    assert code == 0
    assert said.startswith("2 sessions deleted, ")
    assert json.loads(sessions("delete", "--yes", "--json", found[2])[1])["deleted"] == [found[2]]


def test_export_to_stdout_and_into_a_file(sessions, place):
    one = kept(place, ("message", "**answer**"), about=here(place))
    assert sessions("export", one)[1].endswith("> message\n\n**answer**\n")
    assert "<strong>answer</strong>" in sessions("export", one, "--format", "html")[1]
    assert json.loads(sessions("export", one, "--json")[1])["id"] == one
    assert sessions("export", one, "--output", "chat.html")[:2] == (0, "'message' was written to chat.html\n")
    page = Path("chat.html")
    assert "<strong>answer</strong>" in page.read_text()
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert sessions("export", one, "--output", "chat.html")[0] == 2
    assert sessions("export", one, "--output", "chat.html", "--format", "markdown", "--force")[0] == 0
    assert page.read_text().startswith("# message")


def test_prune_deletes_what_the_settings_say_and_lists_it_before_if_wanted(sessions, place):
    journal = SessionJournal.create(place, here(place))
    journal.append(TurnBegun(number=1, message="old", time=1e9))
    journal.close()
    kept(place, ("young", "x"), about=here(place))
    assert "nothing to delete: 2 sessions" in sessions("prune")[1]
    assert journal.id in sessions("prune", "--keep-sessions", "30", "--dry-run")[1]
    assert (place / journal.id).exists()
    assert "1 session older than keep_sessions = 30 days deleted" in sessions("prune", "--keep-sessions", "30")[1]
    assert not (place / journal.id).exists()
    assert "nothing to delete: 1 session" in sessions("prune", "--sessions-limit", "5")[1]


def test_hostile_sessions_are_shown_harmlessly_by_every_command(sessions, place):
    one = kept(place, (f"{HOSTILE} needle", HOSTILE), about=here(place), title=HOSTILE, model=HOSTILE)
    two = kept(place, (HOSTILE, HOSTILE), about=f"/{HOSTILE[:50]}", model=HOSTILE)
    for words in (
        ("list", "--all"),
        ("search", "--all", "needle"),
        ("search", HOSTILE),
        ("export", one),
        ("export", one, "--format", "html"),
        ("export", two),
        ("rename", two, HOSTILE),
        ("fork", two),
        ("fork", two, "--title", HOSTILE),
        ("export", HOSTILE),
        ("delete", HOSTILE, "--yes"),
        ("prune", "--sessions-limit", "0.000000001"),
    ):
        _, out, err = sessions(*words)
        assert out + err == sanitize(out + err), words
        assert out + err
    assert sessions("list", "--all", "--json")[1].isascii()
