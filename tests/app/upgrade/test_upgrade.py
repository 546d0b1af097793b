"""What an earlier version kept is opened by this one; what a later one kept is refused in a sentence, or made anew."""

import gzip
import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from laguna_engine.fit.devices import simulated_machine
from laguna_engine.fit.fallback import FailedPlans
from laguna_engine.native import verdicts
from laguna_engine.speculate.draft_policy import DraftPolicy
from laguna_tui.agent.permissions.rule_file import read_user_rules
from laguna_tui.base.errors import UserError
from laguna_tui.base.events import TurnEnd, TurnFinished
from laguna_tui.base.settings import KEYS, Settings, load_settings
from laguna_tui.context.trust import Trust
from laguna_tui.models.catalogue import check_catalogue
from laguna_tui.models.store import ModelState, Store
from laguna_tui.repo.search.index import Index
from laguna_tui.repo.search.index_database import VERSION, index_path
from laguna_tui.session.draft_statistics import load_draft_statistics
from laguna_tui.session.session import Session
from laguna_tui.store.session_store import SessionStore
from laguna_tui.tui.prompt.input_history import InputHistory
from tests.app.upgrade.record import AGENTS, QUESTION, RECORDED, SETTINGS, SHOP, downloaded

VERSIONS = sorted(path.name for path in RECORDED.iterdir())


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    for name, text in SHOP.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(params=VERSIONS)
def old(request: pytest.FixtureRequest, tmp_path: Path, shop: Path) -> Path:
    """What a version kept, as it lies on the disk of a user whose project is `shop`."""
    place = tmp_path / "old"
    shutil.copytree(RECORDED / request.param, place)
    for listed in (place / "state/trusted.json", *place.glob("state/sessions/*/journal.jsonl")):
        listed.write_text(listed.read_text(encoding="utf-8").replace("{folder}", str(shop)), encoding="utf-8")
    for path in place.rglob("*"):
        # git keeps no such modes, and files that others could write are not believed.
        path.chmod(0o700 if path.is_dir() else 0o600)
    return place


def put_index(old: Path, shop: Path, cache: Path) -> Path:
    path = index_path(shop, cache)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.decompress((old / "index.sqlite.gz").read_bytes()))
    return path


def test_there_is_something_recorded_of_every_setting():
    assert VERSIONS
    assert {line.partition(" ")[0] for line in SETTINGS.splitlines()} <= set(KEYS)


def test_its_settings_rules_and_own_models_are_read(old: Path, shop: Path):
    settings = load_settings(old / "config/config.toml")
    assert (settings.context, settings.kv, settings.mode, settings.offline) == (2048, "q8_0", "accept-edits", True)
    rules = read_user_rules(old / "config/permissions.toml", shop)
    assert (rules.broken, len(rules.rules.allow), len(rules.rules.deny)) == ("", 2, 1)
    models = old / "config/models.toml"
    check_catalogue(models.read_text(encoding="utf-8"), models)


def test_its_trust_and_its_history_are_kept(old: Path, shop: Path):
    trust = Trust(old / "state")
    assert trust.notes == ()
    trusted = trust.of(shop)
    assert trusted is not None
    assert trusted.accepts(shop / "AGENTS.md", AGENTS)
    assert InputHistory(old / "state").entries == ["where is total_price defined?", "two\nlines"]


def test_what_it_learned_of_drafts_plans_and_kernels_is_used(old: Path):
    learned = load_draft_statistics(old / "state/economy/laguna-nano.json")
    assert learned is not None
    assert DraftPolicy().load(learned)
    plans = FailedPlans(old / "state/plans.json", "model", simulated_machine("cpu-16GB"), "build")
    assert plans._failed
    assert list(verdicts._read(old / "state/native.json").values()) == ["it dies of SIGSEGV"]


def test_its_index_answers_and_follows_the_folder(old: Path, shop: Path, tmp_path: Path):
    path = put_index(old, shop, tmp_path / "cache")
    (shop / "report.py").write_text("def monthly_report(): pass\n")
    with Index.open(shop, tmp_path / "cache") as index:
        index.refresh(workers=0)
        names = {name for (name,) in index.connection.execute("select qualified from symbols")}
    assert names == {"total_price", "monthly_report"}
    assert path.is_file()


def test_its_downloaded_models_are_complete(old: Path):
    status = Store(old / "models").status(downloaded())
    assert status.state is ModelState.COMPLETE


def test_its_sessions_are_listed_and_go_on(old: Path, shop: Path, tmp_path: Path):
    (kept,) = SessionStore(old / "state", tmp_path / "cache").newest(shop)
    assert (kept.turns, kept.folder, kept.title) == (1, shop, QUESTION)
    settings = Settings().merged({"context": 2048, "scorer": "none", "threads": 1, "mode": "auto", "snapshots": False})
    session = Session(settings, shop, old / "state", resume=kept.id)
    session.open(lambda progress: None)
    try:
        events = list(session.chat.ask("what does total_price take?"))
    finally:
        session.close()
    (finished,) = [event for event in events if isinstance(event, TurnFinished)]
    assert finished.end is TurnEnd.ANSWERED
    (kept,) = SessionStore(old / "state", tmp_path / "cache").newest(shop)
    assert kept.turns == 2


def newer(path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**document, "version": 99, "format": 99}), encoding="utf-8")
    path.chmod(0o600)


def test_going_back_from_a_later_version_says_what_to_do(old: Path, shop: Path):
    newer(old / "state/trusted.json")
    (note,) = Trust(old / "state").notes
    assert "was written by a newer laguna-tui; trust your folders again to replace the file" in note
    config = old / "config/config.toml"
    config.write_text(f"{SETTINGS}\nfrom_the_future = 1\n")
    with pytest.raises(UserError, match="unknown setting from_the_future"):
        load_settings(config)


def test_what_a_later_version_learned_is_learned_again(old: Path, shop: Path, tmp_path: Path):
    for name in ("plans.json", "native.json", "economy/laguna-nano.json"):
        newer(old / "state" / name)
    assert not FailedPlans(old / "state/plans.json", "model", simulated_machine("cpu-16GB"), "build")._failed
    assert verdicts._read(old / "state/native.json") == {}
    assert not DraftPolicy().load(load_draft_statistics(old / "state/economy/laguna-nano.json") or {})
    path = put_index(old, shop, tmp_path / "cache")
    connection = sqlite3.connect(path)
    connection.execute("pragma user_version = 99")
    connection.execute("drop table symbols")
    connection.commit()
    connection.close()
    with Index.open(shop, tmp_path / "cache") as index:
        assert index.refresh(workers=0).read == 2
        assert index.connection.execute("pragma user_version").fetchone()[0] == VERSION
