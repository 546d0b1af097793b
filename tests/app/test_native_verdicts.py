"""What a child process found out about a model file is remembered between sessions, in the state folder."""

import pytest

from laguna_engine.errors import ModelFileError
from laguna_engine.llama import trial
from laguna_engine.native import child
from laguna_engine.native.verdicts import Verdicts
from laguna_tui.base.settings import Settings
from laguna_tui.session import model_options, opening
from laguna_tui.session.session import Session
from tests.engine import generic


def quiet(progress):
    pass


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


@pytest.fixture
def opened(tmp_path, state, monkeypatch):
    """Opens a model of another architecture as a new process would, and returns the programs started for that."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    path = generic.model("llama").set("llama.context_length", 4096).write(tmp_path / "other.gguf")
    (tmp_path / "folder").mkdir()

    def open_it():
        fresh = Verdicts()
        monkeypatch.setattr(trial, "verdicts", fresh)
        monkeypatch.setattr(opening, "verdicts", fresh)
        started = []
        run = child.run
        with monkeypatch.context() as patch:
            patch.setattr(child, "run", lambda command, *rest: started.append(command) or run(command, *rest))
            session = Session(Settings(model=str(path), context=4096, threads=1), tmp_path / "folder", state=state)
            try:
                session.open(quiet)
            finally:
                session.close()
        return [command for command in started if trial.TRIAL in command]

    return open_it


def test_a_file_is_tried_by_the_first_session_alone(opened, state):
    assert len(opened()) == 1
    assert opened() == []
    assert (state / model_options.VERDICTS).is_file()


def test_a_file_that_crashed_once_starts_nothing_later(opened, monkeypatch):
    tried = []
    crash = ("sh", "-c", "kill -SEGV $$")
    monkeypatch.setattr(trial, "trial_command", lambda *arguments: tried.append(arguments) or crash)
    for _ in range(2):
        with pytest.raises(ModelFileError, match=r"llama\.cpp crashes on it \(SIGSEGV\)"):
            opened()
    assert len(tried) == 1
