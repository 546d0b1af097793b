"""Sessions that are saved and resumed, with a model that follows a script, at the same places every time."""

import shutil
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from laguna_tui.base.settings import Settings
from laguna_tui.session.session import Session
from laguna_tui.session.values import SessionOptions
from tests.app.agent import scripted_engine
from tests.scripted_model.model import scripted_file

QUIET = {"mode": "auto", "context": 8192, "thinking": False, "scorer": "none", "threads": 1}


def start(progress):
    """Nobody looks at how the model is loaded."""


class Place:
    """A project, a state folder and a scripted model; `session` opens a session there."""

    def __init__(self, folder: Path, **files: str) -> None:
        self.project, self.state, self.home = folder / "project", folder / "state", folder / "home"
        self.home.mkdir()
        self.files = {"a.txt": "one\n", **files}
        self.reset()

    def reset(self) -> None:
        """A new project, and no sessions."""
        shutil.rmtree(self.project, ignore_errors=True)
        shutil.rmtree(self.state, ignore_errors=True)
        self.project.mkdir()
        for name, text in self.files.items():
            (self.project / name).write_text(text)

    def model(self, script, name: str = "scripted.gguf") -> Path:
        """A model that follows a script."""
        return scripted_file(self.home / name, script)

    def prepared(self, model: Path, resume: str = "", given=(), cache=None, **settings) -> Session:
        """A session that is not open yet."""
        wanted = Settings().merged({**QUIET, **settings, "model": str(model)})
        return Session(wanted, self.project, self.state, SessionOptions(cache=cache), resume=resume, given=given)

    @contextmanager
    def session(self, model: Path, resume: str = "", **settings):
        """An open session; `info` is what opening it said."""
        session = self.prepared(model, resume, **settings)
        try:
            session.info_at_start = session.open(start)
            yield session
        finally:
            session.close()

    @property
    def saved(self) -> list[str]:
        """The ids of the sessions, oldest first."""
        return sorted(path.parent.name for path in self.state.glob("sessions/*/journal.jsonl"))


def ask(session, message):
    """The events of a turn."""
    return list(session.chat.ask(message))


def tokens(session):
    """The prompt so far."""
    return scripted_engine.tokens(session.parts.agent.conversation)


def rendered_again(session):
    """The prompt so far, of which nothing was rendered before."""
    conversation = session.parts.agent.conversation
    prompt = conversation.prompt_of([replace(each) for each in conversation.items()])
    return conversation.backend.tokens(prompt)


def contents(folder):
    """Every file, and the folders."""
    return {str(path.relative_to(folder)): path.is_file() and path.read_bytes() for path in folder.rglob("*")}
