"""The snapshots of sessions: written in the background, found again by another process, kept within a limit."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from laguna_engine.engine import Engine, EngineOptions, Request
from laguna_engine.events import Token
from laguna_tui.base.settings import Settings
from laguna_tui.session import snapshots as module
from laguna_tui.session.snapshots import Snapshots
from laguna_tui.store.snapshot_store import SnapshotStore
from tests.engine import tiny

PROMPT = [40 + (11 * index) % 400 for index in range(400)]
FIRST, SECOND, THIRD = "20261101-090000-aaaa", "20261102-090000-bbbb", "20261103-090000-cccc"


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> EngineOptions:
    path = tiny.laguna().write(tmp_path_factory.mktemp("models") / "tiny.gguf")
    return EngineOptions(path, n_ctx=1000, n_ubatch=64, threads=1)


@pytest.fixture
def engine(options: EngineOptions) -> Iterator[Engine]:
    with Engine.open(options) as engine:
        yield engine


@pytest.fixture
def store(tmp_path: Path) -> SnapshotStore:
    return SnapshotStore(tmp_path)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Snapshots]:
    snapshots = Snapshots(SnapshotStore(tmp_path), Settings())
    snapshots.use(FIRST)
    yield snapshots
    snapshots.close()


def answered(engine: Engine, prompt: list[int], count: int = 30) -> list[int]:
    events = engine.generate(Request(prompt, max_tokens=count))
    return [*prompt, *(event.id for event in events if isinstance(event, Token))]


def test_a_turn_is_saved_in_the_background_and_restored_by_another_engine(
    engine: Engine, options: EngineOptions, kept: Snapshots
) -> None:
    chat = answered(engine, PROMPT)
    kept.save(engine)
    kept.wait()
    assert (kept.failing, kept.last is not None and kept.last.tokens) == ("", len(chat) - 1)
    with Engine.open(options) as other:
        expected = kept.restorable(other, chat)
        restored = kept.restore(other, chat)
        assert expected is not None
        assert expected.tokens == restored.tokens == len(chat) - 1
        assert restored.notices == ()
        assert other.preview([*chat, 60]).cached == len(chat) - 1


def test_files_and_folders_are_the_users_alone(engine: Engine, kept: Snapshots, tmp_path: Path) -> None:
    answered(engine, PROMPT)
    kept.save_now(engine)
    folder = tmp_path / "snapshots" / FIRST
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


@pytest.mark.parametrize("settings", [Settings(snapshots=False), None], ids=["off", "no folder"])
def test_nothing_is_written_or_restored_when_they_are_off(
    engine: Engine, tmp_path: Path, settings: Settings | None
) -> None:
    snapshots = Snapshots(SnapshotStore(tmp_path) if settings else None, settings or Settings())
    snapshots.use(FIRST)
    chat = answered(engine, PROMPT)
    snapshots.save(engine)
    snapshots.save_now(engine)
    assert snapshots.restorable(engine, chat) is None
    assert snapshots.restore(engine, chat).tokens == 0
    assert list(tmp_path.iterdir()) == []
    snapshots.close()


def test_a_fork_shares_the_files_and_grows_by_itself(
    engine: Engine, options: EngineOptions, kept: Snapshots, store: SnapshotStore, tmp_path: Path
) -> None:
    chat = answered(engine, PROMPT)
    kept.save_now(engine)
    first, second = tmp_path / "snapshots" / FIRST, tmp_path / "snapshots" / SECOND
    store.copy(FIRST, SECOND)
    shared = {path.stat().st_ino for path in first.iterdir()}
    assert sum(store.sizes().values()) == sum(path.stat().st_size for path in first.iterdir())
    kept.use(SECOND)
    longer = answered(engine, [*chat, *PROMPT[:200]])
    kept.save_now(engine, last=True)
    new = [path for path in second.iterdir() if path.stat().st_ino not in shared]
    assert [path.stat().st_nlink for path in new] == [1]
    # Only what was appended is in it.
    assert new[0].stat().st_size < sum(path.stat().st_size for path in first.iterdir())
    shutil.rmtree(first)
    with Engine.open(options) as other:
        assert kept.restore(other, longer).tokens == len(longer) - 1


def test_the_session_used_longest_ago_goes_first(
    engine: Engine,
    options: EngineOptions,
    kept: Snapshots,
    store: SnapshotStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chats = {}
    for age, session in ((300, FIRST), (200, SECOND)):
        engine.clear()
        kept.use(session)
        chats[session] = answered(engine, [50 + age % 7, *PROMPT])
        kept.save_now(engine)
        then = 1_700_000_000 - age
        os.utime(tmp_path / "snapshots" / session, (then, then))
    with Engine.open(options) as other:
        # Restoring is a use too.
        kept.use(FIRST)
        assert kept.restore(other, chats[FIRST]).tokens
    monkeypatch.setattr(kept, "_limit", sum(store.sizes().values()) - 1)
    kept.use(THIRD)
    kept.save_now(engine)
    assert set(store.sizes()) == {FIRST, THIRD}


def test_a_full_disk_is_said_and_then_tried_again(
    engine: Engine, kept: Snapshots, store: SnapshotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage
    monkeypatch.setattr(module, "KEPT_FREE", 1 << 62)
    answered(engine, PROMPT)
    kept.save(engine)
    kept.wait()
    assert "is full" in kept.failing and "--no-snapshots" in kept.failing
    assert store.sizes() == {}
    monkeypatch.setattr(module, "KEPT_FREE", min(1, usage("/").free))
    kept.save(engine)
    kept.wait()
    assert kept.failing == ""
    assert sum(store.sizes().values()) > 0


def test_a_damaged_file_is_said_and_the_answer_is_the_same(
    engine: Engine, options: EngineOptions, kept: Snapshots, tmp_path: Path
) -> None:
    chat = answered(engine, PROMPT)
    kept.save_now(engine)
    (path,) = (tmp_path / "snapshots" / FIRST).iterdir()
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)
    with Engine.open(options) as other:
        restored = kept.restore(other, chat)
        assert restored.tokens == 0
        (notice,) = restored.notices
        assert "damaged" in notice
        engine.clear()
        assert answered(other, chat) == answered(engine, chat)
        # It was removed, so that it is said once.
        assert kept.restore(other, chat).notices == ()


@pytest.mark.parametrize("session", ["../elsewhere", "..", ".", "a/b"])
def test_a_session_is_never_looked_for_outside_its_folder(
    engine: Engine, kept: Snapshots, tmp_path: Path, session: str
) -> None:
    kept.use(session)
    chat = answered(engine, PROMPT)
    kept.save_now(engine)
    assert list(tmp_path.iterdir()) == []
    assert kept.restore(engine, chat).tokens == 0


def test_an_engine_that_was_closed_is_no_reason_to_complain(options: EngineOptions, kept: Snapshots) -> None:
    engine = Engine.open(options)
    answered(engine, PROMPT)
    engine.close()
    kept.save(engine)
    kept.wait()
    assert kept.failing == ""
