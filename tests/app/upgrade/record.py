"""Records what this version keeps between runs: `python -m tests.app.upgrade.record`, once for each release.

It goes to `recorded/VERSION/`, where a test of every later version opens it. `{folder}` stands for the project's.
"""

import gzip
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from laguna_engine.engine import Engine, EngineOptions, Request
from laguna_engine.fit.devices import simulated_machine
from laguna_engine.fit.fallback import FailedPlans
from laguna_engine.fit.model_shape import ModelShape
from laguna_engine.fit.plan import choose_plan
from laguna_engine.gguf import header
from laguna_engine.native.verdicts import Verdicts
from laguna_tui import __version__
from laguna_tui.base.settings import Settings
from laguna_tui.context.trust import Trust
from laguna_tui.models.catalogue import load_catalogue
from laguna_tui.models.entry import ModelEntry
from laguna_tui.models.records import FileRecord, RemoteFile, RepositoryListing
from laguna_tui.models.store import Store
from laguna_tui.repo.search.index import Index
from laguna_tui.session.draft_statistics import save_draft_statistics
from laguna_tui.session.session import Session
from laguna_tui.tui.prompt.input_history import InputHistory
from tests.app.models.test_store import DATA, ETAG

RECORDED = Path(__file__).parent / "recorded"
NANO = Path(__file__).parents[3] / "assets/nano"
SHOP = {"shop.py": "def total_price(items):\n    return sum(items)\n", "README.md": "# Shop\n"}
AGENTS = b"Use tabs.\n"
QUESTION = "where is total_price defined?"
FILE = "Laguna-XS-2.1-Q4_K_M.gguf"
SETTINGS = """\
model = "nano"
context = 2048
kv = "q8_0"
gpu_layers = -1
threads = 1
thinking = true
thinking_budget = 4096
temperature = 0.5
top_k = 20
top_p = 0.9
min_p = 0.05
repeat_penalty = 1.1
seed = 7
max_tokens = 500
max_steps = 20
speculation = "strict"
drafter = "none"
draft_length = 4
sample_drafts = true
adapter = "~/lora.gguf"
scorer = "none"
pack = 1024
mode = "accept-edits"
offline = true
theme = "laguna-dark"
notify = false
"""
RULES = """\
[rules]
allow = ["shell(make test)", "edit(src/**)"]
ask = ["shell(git push …)"]
deny = ["read(secrets/**)"]
"""
MODELS = """\
[models.mine]
title = "Mine"
summary = "a fine-tune"
repository = "me/mine-GGUF"
file = "*Q4_K_M.gguf"
match = ["mine"]
template = "XS_2_1"
tools = "full"
thinking = true
context = 65536
sampling = { temperature = 1.0, top_k = 20 }
"""


def main() -> None:
    """Write it anew."""
    top = RECORDED / __version__
    shutil.rmtree(top, ignore_errors=True)
    for name, text in {"config.toml": SETTINGS, "permissions.toml": RULES, "models.toml": MODELS}.items():
        path = top / "config" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve() / "shop"
        folder.mkdir()
        for name, text in SHOP.items():
            (folder / name).write_text(text, encoding="utf-8")
        _state(top / "state", folder)
        _session(top / "state", folder)
        _index(top, folder)
    _models(top / "models")


def _state(state: Path, folder: Path) -> None:
    state.mkdir(parents=True)
    Trust(state).grant(folder, {"AGENTS.md": AGENTS})
    listed = state / "trusted.json"
    listed.write_text(listed.read_text(encoding="utf-8").replace(str(folder), "{folder}"), encoding="utf-8")
    history = InputHistory(state)
    history.add("where is total_price defined?")
    history.add("two\nlines")
    options = EngineOptions(NANO / "laguna-nano.gguf", n_ctx=512, threads=1, drafter=NANO / "laguna-nano-dflash.gguf")
    with Engine.open(options) as engine:
        for _ in engine.generate(Request(engine.vocab.tokenize(SHOP["shop.py"] * 4, special=False), max_tokens=60)):
            pass
        save_draft_statistics(state / "economy" / "laguna-nano.json", engine.economy())
    plan = choose_plan(ModelShape.of(header.check(options.model)), None, simulated_machine("cpu-16GB"), None)
    FailedPlans(state / "plans.json", "model", plan.machine, "build").failed(plan)
    verdicts = Verdicts()
    verdicts.store_in(state / "native.json")
    verdicts.put("buffer AMX", "it dies of SIGSEGV")
    for lock in state.rglob("*.lock"):
        lock.unlink()


def _session(state: Path, folder: Path) -> None:
    """A session with one question to Laguna Nano, in which it called a tool."""
    settings = Settings().merged({"context": 2048, "scorer": "none", "threads": 1, "mode": "auto", "snapshots": False})
    with tempfile.TemporaryDirectory() as place:
        session = Session(settings, folder, Path(place))
        session.open(lambda progress: None)
        try:
            list(session.chat.ask(QUESTION))
        finally:
            session.close()
        (journal,) = Path(place).glob("sessions/*/journal.jsonl")
        kept = state / "sessions" / journal.parent.name / journal.name
        kept.parent.mkdir(parents=True)
        kept.write_text(journal.read_text(encoding="utf-8").replace(str(folder), "{folder}"), encoding="utf-8")


def _index(top: Path, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as cache:
        with Index.open(folder, Path(cache)) as index:
            index.refresh(workers=0)
        (found,) = Path(cache).glob("*.sqlite")
        (top / "index.sqlite.gz").write_bytes(gzip.compress(found.read_bytes(), mtime=0))


def downloaded() -> ModelEntry:
    """A model of the catalogue with one small file."""
    known = load_catalogue()["xs-2.1"]
    assert known.source is not None
    return replace(known, source=replace(known.source, files=(FILE,), sha256=None, size=len(DATA)))


def _models(folder: Path) -> None:
    store, entry = Store(folder), downloaded()
    assert entry.source is not None
    path = store.final_path(entry.source, FILE)
    path.parent.mkdir(parents=True)
    path.write_bytes(DATA)
    store.save_record(entry.source, FileRecord(entry.source.repository, "c0", FILE, len(DATA), ETAG))
    store.save_listing(entry, RepositoryListing("c0", (RemoteFile(FILE, len(DATA), ETAG),)))


if __name__ == "__main__":
    main()
