"""Writing: at most twice the state, nothing half written is ever found, and a full disk costs the snapshot alone."""

import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from laguna_engine.engine import Engine, Request, Saved
from laguna_engine.errors import EngineClosed, SnapshotError, SnapshotProblem
from laguna_engine.events import Finished
from laguna_engine.snapshot import chunk_file
from laguna_engine.snapshot.chunk_file import ROWS, read_chunk
from tests.engine import drafters
from tests.engine.snapshot.chats import EARLIER, MESSAGES, options, say

HERE = Path(__file__).parent


@pytest.fixture
def engine(tiny_model_path: Path) -> Iterator[Engine]:
    with Engine.open(options(tiny_model_path)) as engine:
        yield engine


def state_bytes(folder: Path, engine: Engine) -> int:
    """Bytes of the cached state, from what a file of the folder says about its rows."""
    chunk = read_chunk(next(folder.glob("*.kv")))
    sections = chunk.sections
    rest = sum((chunk.stop - section.wanted) * section.layout.nbytes for n, section in sections.items() if n != ROWS)
    # A token id of 4 bytes a row, and one header, which is nothing beside a real model's rows.
    return engine._sequence.position * (sections[ROWS].layout.nbytes + 4) + rest + 4096


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("with_drafter", [False, True], ids=["copy", "dflash"])
def test_a_session_writes_at_most_twice_its_state(
    tiny_model_path: Path, tmp_path: Path, seed: int, with_drafter: bool
) -> None:
    """Short and long turns, rewinds, compactions: whenever something is written. What is left unwritten is bounded."""
    chance, folder = random.Random(seed), tmp_path / "kept"
    drafter = drafters.make(drafters.LAGUNA).write(tmp_path / "drafter.gguf") if with_drafter else None
    written = closed = 0
    with Engine.open(options(tiny_model_path, drafter=drafter, n_ctx=2048)) as engine:
        chat, ends = list(EARLIER), [len(EARLIER)]
        for turn in range(40):
            said = say(engine, chat, chance.choice([5, 20, 60, 150]))
            chat += said.tokens
            saved = engine.snapshot(folder, last=turn == 39)
            written += saved.nbytes
            if saved.nbytes:
                assert written <= 2 * (closed + state_bytes(folder, engine))
            else:
                assert saved.waits
            ends.append(len(chat))
            kind = chance.random()
            if len(chat) > 1400 or kind < 0.05:
                closed += state_bytes(folder, engine)
                chat, ends = [*EARLIER[:100], *MESSAGES[turn % 6]], [100]
            elif kind < 0.2:
                del chat[max(end for end in ends if end >= len(chat) * 2 // 3) :]
            chat += [50 + chance.randrange(300) for _ in range(chance.choice([5, 30, 100, 300]))]
        assert written == sum(path.stat().st_size for path in folder.glob("*.kv"))


def test_only_what_was_appended_is_written(engine: Engine, tmp_path: Path) -> None:
    chat = [*EARLIER, *say(engine, EARLIER, 90).tokens]
    engine.snapshot(tmp_path)
    chat += [*MESSAGES[0], *say(engine, [*chat, *MESSAGES[0]], 90).tokens]
    engine.snapshot(tmp_path, last=True)
    first, second = sorted(map(read_chunk, tmp_path.iterdir()), key=lambda chunk: chunk.start)
    assert (first.start, first.stop, second.start, second.stop) == (0, 389, 389, len(chat) - 1)
    assert (second.parent, second.sections[ROWS].start) == (first.id, 389)


def test_what_was_rewritten_before_a_snapshot_that_had_to_wait_is_written_again(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = [*EARLIER, *say(engine, EARLIER, 200).tokens]
    engine.snapshot(tmp_path)
    edited = [*EARLIER, *MESSAGES[0], *say(engine, [*EARLIER, *MESSAGES[0]], 150).tokens]
    saver = engine._snapshots._saver
    answers = iter([True, False])
    with monkeypatch.context() as patch:
        patch.setattr(saver, "_affordable", lambda *_, **__: next(answers))
        assert engine.snapshot(tmp_path).waits
    more = [*edited, *MESSAGES[1], *say(engine, [*edited, *MESSAGES[1]], 150).tokens]
    engine.snapshot(tmp_path, last=True)
    for tokens in (chat, more):
        engine.clear()
        assert engine.restore(tmp_path, [*tokens, 60]).tokens == len(tokens) - 1


def test_nothing_new_is_not_written(engine: Engine, tmp_path: Path) -> None:
    say(engine, EARLIER, 20)
    assert engine.snapshot(tmp_path).nbytes
    assert engine.snapshot(tmp_path) == Saved(len(EARLIER) + 19)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_that_was_deleted_is_begun_anew(engine: Engine, tmp_path: Path) -> None:
    say(engine, EARLIER, 20)
    engine.snapshot(tmp_path / "one")
    (path,) = (tmp_path / "one").iterdir()
    path.unlink()
    assert engine.snapshot(tmp_path / "one").nbytes
    assert engine.snapshot(tmp_path / "two").nbytes


def test_a_request_goes_before_the_next_part(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that comes while a snapshot is written waits for one part, and the snapshot holds what it held before."""
    monkeypatch.setattr(chunk_file, "PART_BYTES", 1024)
    say(engine, EARLIER, 20)
    length, sequence = engine._sequence.position, engine._sequence
    first, asked, order = threading.Event(), threading.Event(), []
    original = sequence.context.read_rows

    def read_rows(start: int, stop: int) -> object:
        order.append(stop)
        if len(order) == 5:
            first.set()
            # On the engine thread: the request is queued before the part is done.
            assert asked.wait(60)
        return original(start, stop)

    monkeypatch.setattr(sequence.context, "read_rows", read_rows)
    saved: list[Saved] = []
    writer = threading.Thread(target=lambda: saved.append(engine.snapshot(tmp_path)))
    writer.start()
    assert first.wait(60)
    stream = engine.generate(Request([*EARLIER, *sequence.tokens[len(EARLIER) :], 60], max_tokens=20))
    asked.set()
    *_, end = stream
    parts_before = len(order)
    assert isinstance(end, Finished)
    writer.join(60)
    assert (saved[0].tokens, parts_before < 20 < len(order)) == (length, True)
    assert engine.restore(tmp_path, EARLIER).tokens == 0


def test_a_snapshot_of_what_was_cut_off_meanwhile_is_given_up(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunk_file, "PART_BYTES", 1024)
    say(engine, EARLIER, 20)
    sequence, context, parts = engine._sequence, engine._sequence.context, []
    original = context.read_rows

    def read_rows(start: int, stop: int) -> object:
        parts.append(stop)
        if len(parts) == 5:
            sequence.rewind([*EARLIER[:10], 60])
        return original(start, stop)

    monkeypatch.setattr(context, "read_rows", read_rows)
    with pytest.raises(SnapshotError) as raised:
        engine.snapshot(tmp_path)
    assert raised.value.problem in (SnapshotProblem.CHANGED, SnapshotProblem.UNKNOWN_STATE)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    chat = [*EARLIER[:10], 60, *say(engine, [*EARLIER[:10], 60], 100).tokens]
    engine.snapshot(tmp_path)
    engine.clear()
    assert engine.restore(tmp_path, chat).tokens == len(chat) - 1


def test_an_engine_that_is_closed_meanwhile_leaves_nothing_half_written(tiny_model_path: Path, tmp_path: Path) -> None:
    engine = Engine.open(options(tiny_model_path))
    say(engine, EARLIER, 20)
    engine.close()
    with pytest.raises(EngineClosed):
        engine.snapshot(tmp_path)
    assert list(tmp_path.iterdir()) == []


def child(name: str, *arguments: object) -> str:
    command = [sys.executable, str(HERE / name), *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=170, cwd=HERE.parents[2])
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_a_disk_that_is_full_at_any_byte_costs_the_snapshot_alone(tiny_model_path: Path, tmp_path: Path) -> None:
    """A limit on the size of files stands for the full disk: writes are cut short and then refused."""
    assert int(child("full_disk_child.py", tiny_model_path, tmp_path)) >= 150


def test_what_a_killed_process_left_half_written_is_removed(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / f"0123456789abcdef{chunk_file.PARTIAL}").write_bytes(b"lagunaKV")
    say(engine, EARLIER, 20)
    engine.snapshot(tmp_path)
    assert [path.suffix for path in tmp_path.iterdir()] == [chunk_file.SUFFIX]


def test_a_folder_that_cannot_be_written_is_said(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    say(engine, EARLIER, 20)
    with pytest.raises(SnapshotError, match="cannot be written") as raised:
        engine.snapshot(tmp_path / "file" / "folder")
    assert raised.value.problem is SnapshotProblem.DISK
