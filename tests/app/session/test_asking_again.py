"""`laguna-tui ask` continues with a session that was kept, and keeps nothing otherwise."""

import json

import pytest

from laguna_tui.cli.main import main
from tests.app.session.place import Place, ask
from tests.scripted_model import call, say


@pytest.fixture
def place(tmp_path, monkeypatch):
    for name in ("CACHE", "STATE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    made = Place(tmp_path)
    made.state = tmp_path / "state/laguna-tui"
    monkeypatch.chdir(made.project)
    return made


def run(capsys, model, *arguments):
    options = ["--model", str(model), "--scorer", "none", "--context", "8192", "--no-thinking", "--mode", "auto"]
    code = main([*options, *arguments])
    return code, capsys.readouterr()


def test_ask_resumes_the_last_session_and_adds_to_it(place, capsys):
    model = place.model(["It reads one.", say(call("write", path="b.txt", content="b\n")), "Written."])
    with place.session(model) as session:
        ask(session, "what does a.txt say?")
    code, said = run(capsys, model, "ask", "-c", "--json", "write b")
    assert (code, json.loads(said.out)["answer"]) == (0, "Written.")
    (kept,) = place.saved
    with place.session(model, kept) as session:
        assert [point.title for point in session.history.points()] == ["what does a.txt say?", "write b"]
        session.history.apply(session.history.plan_undo())
        assert not (place.project / "b.txt").exists()


def test_only_the_last_plain_ask_is_saved(place, capsys):
    for _ in range(2):
        code, said = run(capsys, place.model(["Hello."]), "ask", "hello")
        assert (code, said.out.strip()) == (0, "Hello.")
        assert len(place.saved) == 1


def test_ask_resumes_by_title_from_another_folder(place, capsys, tmp_path, monkeypatch):
    model = place.model(["Hello.", "Hello again."])
    with place.session(model) as session:
        ask(session, "greet me")
    monkeypatch.chdir(tmp_path)
    code, said = run(capsys, model, "ask", "--resume", "greet me", "again")
    assert (code, said.out.strip()) == (0, "Hello again.")


def test_without_a_session_the_error_lists_those_there_are(place, capsys):
    code, said = run(capsys, place.model(["Hello."]), "ask", "-c", "hello")
    assert code == 2
    assert said.err == (
        "laguna-tui: there is no saved session of this folder; to choose from all sessions: laguna-tui --resume\n"
    )
    code, said = run(capsys, place.model(["Hello."]), "ask", "--resume", "nothing", "hello")
    assert code == 2
    assert said.err.startswith("laguna-tui: no session is called 'nothing'; no saved sessions yet")


def test_ask_resumes_in_the_named_folder_if_that_of_the_session_was_moved(place, capsys, tmp_path, monkeypatch):
    model = place.model(["Hello.", "Hello again."])
    with place.session(model) as session:
        ask(session, "greet me")
    (kept,) = place.saved
    monkeypatch.chdir(tmp_path)
    there = place.project.rename(tmp_path / "there")
    code, said = run(capsys, model, "ask", "--resume", "greet me", "again")
    assert (code, said.err) == (
        2,
        f"laguna-tui: {place.project}, which this session is about, is gone. If it was moved, say where it is now: "
        f"laguna-tui --resume {kept} --folder DIR\n",
    )
    code, said = run(capsys, model, "ask", "--resume", "greet me", "--folder", "there", "again")
    assert (code, said.out.strip()) == (0, "Hello again.")
    (place.project).mkdir()
    code, said = run(capsys, model, "ask", "--resume", "greet me", "--folder", str(place.project), "again")
    assert (code, said.err) == (
        2,
        f"laguna-tui: this session is about {there}; resume it there: laguna-tui --resume {kept}\n",
    )
