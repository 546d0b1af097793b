"""Files that are not what was written are refused before llama.cpp sees them, with a sentence; the answer is right."""

import json
import random
import shutil
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from laguna_engine.config import KvType, Speculation
from laguna_engine.engine import Engine
from laguna_engine.errors import SnapshotProblem
from laguna_engine.llama import context as native
from laguna_engine.snapshot import chunk_file, identity
from tests.engine import tiny
from tests.engine.snapshot.chats import EARLIER, MESSAGES, assert_equal, held, options, say

END = struct.Struct("<I32s8s")


@pytest.fixture(scope="module")
def engine(tiny_model_path: Path) -> Iterator[Engine]:
    with Engine.open(options(tiny_model_path)) as engine:
        yield engine


@pytest.fixture(scope="module")
def written(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[int], list[int]]:
    """A folder with three chunks, the conversation, and the answer that comes next."""
    folder = tmp_path_factory.mktemp("snapshots")
    chat = list(EARLIER)
    for message in MESSAGES[:3]:
        chat += [*say(engine, chat, 90).tokens, *message]
        say(engine, chat, 1)
        assert engine.snapshot(folder, last=True).nbytes
    assert len(list(folder.iterdir())) == 3
    engine.clear()
    return folder, chat, say(engine, chat, 8).tokens


@pytest.fixture
def folder(written: tuple[Path, list[int], list[int]], tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(written[0], tmp_path / "copy"))


def flipped(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]


def cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))]


def swapped(data: bytes, chance: random.Random) -> bytes:
    """Two stretches of equal length change places."""
    size = chance.choice([4, 64, 256, 1024])
    first, second = sorted(chance.sample(range(0, len(data) - size, size), 2))
    one, two = data[first : first + size], data[second : second + size]
    changed = data[:first] + two + data[first + size : second] + one + data[second + size :]
    return changed if changed != data else flipped(data, chance)


def zeroed(data: bytes, chance: random.Random) -> bytes:
    """A page that the disk lost."""
    at = chance.randrange(len(data) - 512)
    changed = data[:at] + bytes(512) + data[at + 512 :]
    return changed if changed != data else flipped(data, chance)


def grown(data: bytes, chance: random.Random) -> bytes:
    return data + chance.randbytes(chance.randrange(1, 100))


def inserted(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + chance.randbytes(chance.randrange(1, 100)) + data[at:]


def random_bytes(data: bytes, chance: random.Random) -> bytes:
    return chance.randbytes(len(data))


DAMAGES = (flipped, flipped, flipped, cut, swapped, zeroed, grown, inserted, random_bytes)


def test_hundreds_of_damaged_files_are_refused(
    engine: Engine, written: tuple[Path, list[int], list[int]], folder: Path
) -> None:
    """Of 700, each is named with its reason and removed, but for damage where nothing is read: then all is restored."""
    _, chat, _ = written
    files = {path: path.read_bytes() for path in sorted(folder.iterdir())}
    engine.clear()
    engine.restore(folder, chat)
    whole = held(engine)
    chance, refused = random.Random(7), 0
    for trial in range(700):
        path = chance.choice(list(files))
        path.write_bytes(DAMAGES[trial % len(DAMAGES)](files[path], chance))
        engine.clear()
        # As another process would find it.
        engine._snapshots._catalogs.clear()
        restored = engine.restore(folder, chat)
        if restored.tokens == len(chat):
            assert_equal(held(engine), whole)
        else:
            (refusal,) = restored.refused
            assert (refusal.path, refusal.error.problem) == (path, SnapshotProblem.DAMAGED)
            assert "damaged" in str(refusal)
            # What another chunk ends with may still be restored.
            assert engine.preview(chat).cached == restored.tokens
            refused += 1
        assert path.exists() is (restored.refused == ())
        path.write_bytes(files[path])
    assert refused > 500


@pytest.mark.parametrize("damage", DAMAGES[2:], ids=lambda damage: damage.__name__)
def test_the_answer_behind_a_damaged_file_is_the_same(
    engine: Engine,
    written: tuple[Path, list[int], list[int]],
    folder: Path,
    damage: Callable[[bytes, random.Random], bytes],
) -> None:
    _, chat, expected = written
    chance = random.Random(11)
    for path in folder.iterdir():
        path.write_bytes(damage(path.read_bytes(), chance))
    engine.clear()
    assert engine.restore(folder, chat).tokens == 0
    assert say(engine, chat, 8).tokens == expected


def test_files_with_each_others_names_are_refused(
    engine: Engine, written: tuple[Path, list[int], list[int]], folder: Path
) -> None:
    _, chat, expected = written
    first, second, third = sorted(folder.iterdir())
    content = [path.read_bytes() for path in (second, third, first)]
    for path, data in zip((first, second, third), content, strict=True):
        path.write_bytes(data)
    engine.clear()
    restored = engine.restore(folder, chat)
    assert (restored.tokens, len(restored.refused)) == (0, 3)
    assert say(engine, chat, 8).tokens == expected


def test_what_builds_on_a_missing_file_is_not_used(
    engine: Engine, written: tuple[Path, list[int], list[int]], folder: Path
) -> None:
    _, chat, expected = written
    next(path for path in folder.iterdir() if chunk_file.read_chunk(path).start == 0).unlink()
    engine.clear()
    assert engine.restorable(folder, chat) is None
    assert engine.restore(folder, chat).tokens == 0
    assert say(engine, chat, 8).tokens == expected


def rewritten(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Replace the file by one whose header was changed by somebody who knows how to hash it."""
    data = path.read_bytes()
    length, _, magic = END.unpack(data[-END.size :])
    start = len(data) - END.size - length
    header = json.loads(data[start : start + length])
    change(header)
    text = json.dumps(header).encode()
    digest = blake2b(text, digest_size=32).digest()
    path.unlink()
    (path.parent / f"{digest.hex()[:32]}.kv").write_bytes(data[:start] + text + END.pack(len(text), digest, magic))


def test_an_older_version_is_refused(engine: Engine, written: tuple[Path, list[int], list[int]], folder: Path) -> None:
    _, chat, _ = written
    for path in list(folder.iterdir()):
        rewritten(path, lambda header: header.update(version=0))
    engine.clear()
    restored = engine.restore(folder, chat)
    assert {refusal.error.problem for refusal in restored.refused} == {SnapshotProblem.VERSION}
    # It may be of use to the version that wrote it.
    assert len(list(folder.iterdir())) == 3


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values in a header."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from leaves(inner, (*path, key))


def test_a_forged_header_crashes_nothing(
    engine: Engine, written: tuple[Path, list[int], list[int]], folder: Path
) -> None:
    """Every value of a header is replaced by odd ones. llama.cpp may refuse what is left; the next answer is right."""
    _, chat, expected = written
    path = next(path for path in folder.iterdir() if chunk_file.read_chunk(path).start == 0)
    for other in list(folder.iterdir()):
        if other != path:
            other.unlink()
    data = path.read_bytes()
    length = END.unpack(data[-END.size :])[0]
    header = json.loads(data[-END.size - length : -END.size])
    tried = 0
    for place in leaves(header):
        for odd in (None, -1, 0, 1, 7, 1 << 40, 1.5, "x", [], {}, [1, 2], True):
            forged = json.loads(json.dumps(header))
            inner = forged
            for key in place[:-1]:
                inner = inner[key]
            if inner[place[-1]] == odd:
                continue
            inner[place[-1]] = odd
            shutil.rmtree(folder)
            folder.mkdir()
            path.write_bytes(data)
            rewritten(path, lambda header, forged=forged: (header.clear(), header.update(forged)))  # type: ignore[misc]
            engine.restore(folder, chat)
            tried += 1
            if tried % 100 == 0:
                assert engine.restore(folder, chat).tokens in (0, len(EARLIER) + 90 + 60)
    assert tried > 500
    engine.clear()
    assert say(engine, chat, 8).tokens == expected


FOREIGN = {
    "model": ("b" * 32, SnapshotProblem.MODEL),
    "build": ("llama-cpp-python 0.3.35 (ggml 0.25.2)", SnapshotProblem.BUILD),
    "kv": ("q8_0", SnapshotProblem.CACHE),
    "exact": (True, SnapshotProblem.MODE),
}


@pytest.mark.parametrize("key", FOREIGN)
def test_what_another_engine_wrote_is_refused(
    engine: Engine, written: tuple[Path, list[int], list[int]], folder: Path, key: str
) -> None:
    _, chat, expected = written
    value, problem = FOREIGN[key]
    for path in list(folder.iterdir()):
        rewritten(path, lambda header: header["identity"].update({key: value}))
    engine.clear()
    restored = engine.restore(folder, chat)
    assert {refusal.error.problem for refusal in restored.refused} == {problem}
    assert say(engine, chat, 8).tokens == expected
    # Once something is cached, it is no news that the folder has something of another engine too.
    assert engine.restore(folder, chat).refused == ()


@pytest.mark.parametrize("what", ["another model", "another cache", "a shorter context"])
def test_other_engines_refuse_it(
    written: tuple[Path, list[int], list[int]], tiny_model_path: Path, tmp_path: Path, what: str
) -> None:
    folder, chat, _ = written
    path = tiny.laguna(seed=2).write(tmp_path / "other.gguf") if what == "another model" else tiny_model_path
    kv = KvType.Q8_0 if what == "another cache" else KvType.F16
    opened = options(path, kv)
    with Engine.open(replace(opened, n_ctx=512) if what == "a shorter context" else opened) as other:
        restored = other.restore(folder, chat[:400])
        if what == "a shorter context":
            # The first chunk still fits, and is what this prompt begins with.
            assert restored.tokens == 0
            assert other.restore(folder, chat[:451]).tokens == 450
        else:
            assert (restored.tokens, len(restored.refused)) == (0, 3)


def test_a_strict_state_belongs_to_the_processors_kernels(
    engine: Engine, tiny_model_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of another processor sum in another order."""

    def build(mode: Speculation) -> str:
        return identity.identity_of([tiny_model_path], replace(engine.info, speculation=mode)).build

    fast = build(Speculation.FAST)
    monkeypatch.setattr(identity, "system_info", lambda: "CPU : NEON = 1 | SVE = 0 | SME = 1 | ")
    assert (build(Speculation.FAST), build(Speculation.STRICT)) == (fast, f"{fast} NEON SME")


def test_another_vocabulary_or_template_is_another_model(tmp_path: Path) -> None:
    file = tiny.laguna()
    one = file.write(tmp_path / "one.gguf")
    two = file.set("tokenizer.chat_template", "{{ messages }}").write(tmp_path / "two.gguf")
    texts = list(file.metadata["tokenizer.ggml.tokens"][1])
    texts[300], texts[301] = texts[301], texts[300]
    three = file.set("tokenizer.ggml.tokens", texts).write(tmp_path / "three.gguf")
    assert len({identity._fingerprint(path, path.stat().st_size, 0) for path in (one, two, three)}) == 3


def test_a_restore_that_llama_cpp_refuses_half_way_poisons_nothing(
    engine: Engine, written: tuple[Path, list[int], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it is a part, the window, or an error in between."""
    folder, chat, expected = written
    for method in ("write_rows", "load_window"):
        engine.clear()
        with monkeypatch.context() as patch:
            original = getattr(native.Context, method)
            patch.setattr(native.Context, method, lambda *given, original=original: original(*given) and False)
            restored = engine.restore(folder, chat)
        assert restored.tokens == 0
        assert {refusal.error.problem for refusal in restored.refused} == {SnapshotProblem.REFUSED}
        assert engine.preview(chat).cached == 0
        assert say(engine, chat, 8).tokens == expected


def test_layouts_that_llama_cpp_does_not_have_are_refused_by_it(
    engine: Engine, written: tuple[Path, list[int], list[int]], folder: Path
) -> None:
    """Rows of another type, split among other layers: the checks of `llama_kv_cache::state_read_data`."""
    _, chat, expected = written

    def change(header: dict[str, Any]) -> None:
        for section in header["sections"].values():
            section["keys"] = [[8, width] for _, width in section["keys"]]

    for path in list(folder.iterdir()):
        if chunk_file.read_chunk(path).start:
            path.unlink()
        else:
            rewritten(path, change)
    engine.clear()
    restored = engine.restore(folder, chat)
    assert [refusal.error.problem for refusal in restored.refused] == [SnapshotProblem.REFUSED]
    assert say(engine, chat, 8).tokens == expected
