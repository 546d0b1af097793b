"""The snapshots of sessions: written in the background, found again by another process, kept within a limit."""

import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from laguna_engine.chat.messages import Role
from laguna_engine.chat.template import Family
from laguna_engine.config import Sampling
from laguna_engine.engine import Engine, EngineOptions
from laguna_tui.backends.base import Message, Options, Prompt
from laguna_tui.backends.local.backend import LocalBackend
from laguna_tui.base.settings import Settings
from laguna_tui.session import snapshots as module
from laguna_tui.session.snapshots import Snapshots
from laguna_tui.store.snapshot_store import SnapshotStore
from tests.engine import tiny

WORDS = " ".join(str(11 * index % 400) for index in range(100))
NOTHING = Prompt("")
FIRST, SECOND, THIRD = "20261101-090000-aaaa", "20261102-090000-bbbb", "20261103-090000-cccc"


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> EngineOptions:
    path = tiny.laguna().write(tmp_path_factory.mktemp("models") / "tiny.gguf")
    return EngineOptions(path, n_ctx=1000, n_ubatch=64, threads=1)


@contextmanager
def opened(options: EngineOptions) -> Iterator[LocalBackend]:
    with Engine.open(options) as engine:
        yield LocalBackend(engine, Family.XS_2_1, "tiny")


@pytest.fixture
def backend(options: EngineOptions) -> Iterator[LocalBackend]:
    with opened(options) as backend:
        yield backend


@pytest.fixture
def store(tmp_path: Path) -> SnapshotStore:
    return SnapshotStore(tmp_path)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Snapshots]:
    snapshots = Snapshots(SnapshotStore(tmp_path), Settings())
    snapshots.use(FIRST)
    yield snapshots
    snapshots.close()


def answered(backend: LocalBackend, words: str = WORDS, before: Prompt = NOTHING) -> Prompt:
    """A chat with the model's answer to these words."""
    asked = replace(before, messages=(*before.messages, Message(Role.USER, (words,))))
    with closing(backend.generate(asked, Options(Sampling(temperature=1.0, seed=1), max_tokens=30))) as answer:
        for _ in answer:
            pass
    return replace(asked, messages=(*asked.messages, answer.message))


def generated(backend: LocalBackend, before: Prompt) -> list[int]:
    """The tokens of an answer in a chat."""
    *_, answer = answered(backend, "and now?", before).messages
    assert answer.trace is not None
    return list(answer.trace.tokens)


def computed(backend: LocalBackend) -> int:
    """Tokens of the newest generation that are in the cache: all but the last one."""
    assert backend.last is not None
    return len(backend.last.prompt) + len(backend.last.tokens) - 1


def test_a_turn_is_saved_in_the_background_and_restored_by_another_engine(
    backend: LocalBackend, options: EngineOptions, kept: Snapshots
) -> None:
    chat = answered(backend)
    kept.save(backend)
    kept.wait()
    assert (kept.failing, kept.last is not None and kept.last.tokens) == ("", computed(backend))
    with opened(options) as other:
        expected = kept.restorable(other, chat)
        restored = kept.restore(other, chat)
        assert expected is not None
        assert expected.tokens == restored.tokens == computed(backend)
        assert restored.notices == ()
        assert other.cost(chat).cached == computed(backend)


def test_files_and_folders_are_the_users_alone(backend: LocalBackend, kept: Snapshots, tmp_path: Path) -> None:
    answered(backend)
    kept.save_now(backend)
    folder = tmp_path / "snapshots" / FIRST
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


@pytest.mark.parametrize("settings", [Settings(snapshots=False), None], ids=["off", "no folder"])
def test_nothing_is_written_or_restored_when_they_are_off(
    backend: LocalBackend, tmp_path: Path, settings: Settings | None
) -> None:
    snapshots = Snapshots(SnapshotStore(tmp_path) if settings else None, settings or Settings())
    snapshots.use(FIRST)
    chat = answered(backend)
    snapshots.save(backend)
    snapshots.save_now(backend)
    assert snapshots.restorable(backend, chat) is None
    assert snapshots.restore(backend, chat).tokens == 0
    assert list(tmp_path.iterdir()) == []
    snapshots.close()


def test_a_fork_shares_the_files_and_grows_by_itself(
    backend: LocalBackend, options: EngineOptions, kept: Snapshots, store: SnapshotStore, tmp_path: Path
) -> None:
    chat = answered(backend)
    kept.save_now(backend)
    first, second = tmp_path / "snapshots" / FIRST, tmp_path / "snapshots" / SECOND
    store.copy(FIRST, SECOND)
    shared = {path.stat().st_ino for path in first.iterdir()}
    assert sum(store.sizes().values()) == sum(path.stat().st_size for path in first.iterdir())
    kept.use(SECOND)
    longer = answered(backend, WORDS[: len(WORDS) // 2], chat)
    kept.save_now(backend, last=True)
    new = [path for path in second.iterdir() if path.stat().st_ino not in shared]
    assert [path.stat().st_nlink for path in new] == [1]
    # Only what was appended is in it.
    assert new[0].stat().st_size < sum(path.stat().st_size for path in first.iterdir())
    shutil.rmtree(first)
    with opened(options) as other:
        assert kept.restore(other, longer).tokens == computed(backend)


def test_the_session_used_longest_ago_goes_first(
    backend: LocalBackend,
    options: EngineOptions,
    kept: Snapshots,
    store: SnapshotStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chats = {}
    for age, session in ((300, FIRST), (200, SECOND)):
        backend.engine.clear()
        kept.use(session)
        chats[session] = answered(backend, f"{age} {WORDS}")
        kept.save_now(backend)
        then = 1_700_000_000 - age
        os.utime(tmp_path / "snapshots" / session, (then, then))
    with opened(options) as other:
        # Restoring is a use too.
        kept.use(FIRST)
        assert kept.restore(other, chats[FIRST]).tokens
    monkeypatch.setattr(kept, "_limit", sum(store.sizes().values()) - 1)
    kept.use(THIRD)
    kept.save_now(backend)
    assert set(store.sizes()) == {FIRST, THIRD}


def test_a_full_disk_is_reported_and_then_tried_again(
    backend: LocalBackend, kept: Snapshots, store: SnapshotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage
    monkeypatch.setattr(module, "KEPT_FREE", 1 << 62)
    answered(backend)
    kept.save(backend)
    kept.wait()
    assert "is full" in kept.failing and "--no-snapshots" in kept.failing
    assert store.sizes() == {}
    monkeypatch.setattr(module, "KEPT_FREE", min(1, usage("/").free))
    kept.save(backend)
    kept.wait()
    assert kept.failing == ""
    assert sum(store.sizes().values()) > 0


def test_a_damaged_file_is_reported_and_the_answer_is_the_same(
    backend: LocalBackend, options: EngineOptions, kept: Snapshots, tmp_path: Path
) -> None:
    chat = answered(backend)
    kept.save_now(backend)
    (path,) = (tmp_path / "snapshots" / FIRST).iterdir()
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)
    with opened(options) as other:
        restored = kept.restore(other, chat)
        assert restored.tokens == 0
        (notice,) = restored.notices
        assert "damaged" in notice
        backend.engine.clear()
        assert generated(other, chat) == generated(backend, chat)
        # It was removed, so that it is said once.
        assert kept.restore(other, chat).notices == ()


@pytest.mark.parametrize("session", ["../elsewhere", "..", ".", "a/b"])
def test_snapshots_outside_the_folder_of_a_session_are_never_read(
    backend: LocalBackend, kept: Snapshots, tmp_path: Path, session: str
) -> None:
    kept.use(session)
    chat = answered(backend)
    kept.save_now(backend)
    assert list(tmp_path.iterdir()) == []
    assert kept.restore(backend, chat).tokens == 0


def test_a_closed_engine_is_not_reported(options: EngineOptions, kept: Snapshots) -> None:
    with opened(options) as backend:
        answered(backend)
    kept.save(backend)
    kept.wait()
    assert kept.failing == ""
