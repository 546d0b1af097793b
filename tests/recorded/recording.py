"""Records what this version of the app writes to disk, so that later versions are tested to read it.

    python -m tests.recorded v0.1

It holds what a user's folders hold (sessions with their undo log, the input history, trusted files, rules, statistics
of drafts, a download that was cut) and the project itself. Absolute paths become `BASE`.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

from laguna_tui.agent.permissions.rule_file import append_rule
from laguna_tui.base.settings import Settings
from laguna_tui.context.trust import Trust
from laguna_tui.models.partial_file import partial_path
from laguna_tui.models.records import SHA256, Fingerprint
from laguna_tui.session.session import Session
from laguna_tui.session.values import SessionOptions
from laguna_tui.store.session_export import ExportForm, exported
from laguna_tui.store.session_store import SessionStore
from laguna_tui.store.session_transcript import read_transcript
from laguna_tui.tui.prompt.input_history import InputHistory
from tests.app.agent.scripted_engine import tokens
from tests.scripted_model import Script, call, raw, say, think
from tests.scripted_model.model import scripted_file

FOLDER = Path(__file__).parent
BASE = "@BASE@"
"""Stands for the folder that holds the home folder and the project."""
SETTINGS: Mapping[str, Any] = {
    "mode": "auto",
    "context": 8192,
    "thinking": True,
    "scorer": "none",
    "threads": 1,
    "constrain": "off",
    "snapshots": False,
}
PROJECT = {
    "AGENTS.md": "Answer in one sentence.\n",
    "shop.py": "def total_price(items):\n    return sum(items)\n",
    "notes.txt": "one\ntwo\n",
}
MESSAGES = ("Make @shop.py round the price.", "Write the documentation.", "Say more.")
MODEL_BYTES = bytes(range(256)) * 64
"""Of a model file whose download is cut after `CUT` bytes."""
CUT = 10_000


def script(seen: Any) -> Iterator[Any]:
    """What the scripted model says: each tool that changes something, and what a model does wrong."""
    yield say(think("The function comes first."), call("read", path="shop.py"))
    yield say(call("edit", path="shop.py", old="sum(items)", new="round(sum(items), 2)"))
    yield "It rounds now."
    yield say(call("write", path="docs/price.md", content="# Prices\n"), call("todo", items="[x] write\n[ ] check"))
    yield say(call("shell", cmd="rm notes.txt; echo three > three.txt"))
    yield raw("<tool_call>read\n<arg_key>path")
    yield say(call("nonsense", path="shop.py"))
    yield "The documentation is written."
    yield "Prices are rounded to cents. " * 60


def model_hash() -> Fingerprint:
    """Return the hash of the model file that was not downloaded completely."""
    return Fingerprint(SHA256, hashlib.sha256(MODEL_BYTES).hexdigest())


def prepared(base: Path, resume: str = "") -> Session:
    """Return a session about the project below `base`; it is not open yet."""
    model = scripted_file(
        base / "scripted.gguf", Script(script, asides={"The context is nearly full": "They want prices rounded."})
    )
    settings = Settings().merged({**SETTINGS, "model": str(model)})
    return Session(
        settings,
        base / "project",
        base / "state",
        SessionOptions(cache=base / "cache", rules=base / "config" / "permissions.toml"),
        resume=resume,
    )


def state_of(session: Session, project: Path) -> dict[str, Any]:
    """Return what a resumed session must have in common with the one that was recorded."""
    prompt = tokens(session.opened().agent.conversation)
    return {
        "tokens": sha256(repr(prompt).encode()).hexdigest(),
        "points": [[point.number, point.title, list(point.paths), point.undone] for point in session.history.points()],
        "todo": [[item.text, str(item.state)] for item in session.opened().toolbox.todo.items],
        "project": contents(project),
    }


def markdown(store: SessionStore, session: str) -> str:
    """Return a session as `laguna-tui sessions export` prints it."""
    return exported(read_transcript(store.folder / session), ExportForm.MARKDOWN)


def contents(folder: Path) -> dict[str, str]:
    """Return the text of each file below a folder by its relative path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in files}


def record(into: Path, base: Path) -> None:
    """Use the app as a user does in `base`, an empty folder, and store in `into` what it wrote."""
    project, state = base / "project", base / "state"
    project.mkdir()
    for name, text in PROJECT.items():
        (project / name).write_text(text, encoding="utf-8")
    Trust(state).grant(project, {"AGENTS.md": PROJECT["AGENTS.md"].encode()})
    (base / "config").mkdir()
    append_rule(base / "config" / "permissions.toml", project, "shell(git push)", "deny")
    history = InputHistory(state)
    for message in MESSAGES:
        history.add(message)
    states = []
    with closing(prepared(base)) as session:
        session.open(lambda progress: None)
        states.append(state_of(session, project))
        for message in MESSAGES:
            for _ in session.chat.ask(message):
                pass
            states.append(state_of(session, project))
        session.history.apply(session.history.plan_undo())
        states.append(state_of(session, project))
        current = session.sessions.current
        assert current is not None
        session.sessions.rename(current.id, "Prices")
        for _ in session.chat.compact():
            pass
        states.append(state_of(session, project))
        fork = session.sessions.fork(title="A copy")
    (base / "store").mkdir()
    partial_path(base / "store" / "model.gguf", model_hash()).write_bytes(MODEL_BYTES[:CUT])
    store = SessionStore(state, base / "cache")
    expected = {
        "states": states,
        "session": current.id,
        "fork": fork.id,
        "exports": {each: markdown(store, each) for each in (current.id, fork.id)},
    }
    into.mkdir(parents=True)
    # The index of sessions is computed again where it is missing; it is binary and holds paths.
    unneeded = shutil.ignore_patterns("*.lock", "index.db*")
    for each in ("project", "state", "config", "store"):
        shutil.copytree(base / each, into / each, ignore=unneeded)
    (into / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False), encoding="utf-8")
    replace_text(into, str(base), BASE)


def replace_text(folder: Path, old: str, new: str) -> None:
    """Replace a text in every file of text below a folder."""
    for path in folder.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        if old.encode() in data:
            path.write_bytes(data.replace(old.encode(), new.encode()))
