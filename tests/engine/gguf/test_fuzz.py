"""Random damage: the check returns a header or raises a ModelFileError, quickly and in little memory.

Files that pass are opened by llama.cpp in a child process, which must not die: a flipped bit may make nonsense of the
answers, never end the app.
"""

import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from laguna_engine.errors import ModelFileError
from laguna_engine.gguf import header, vocabulary
from tests.engine import tiny

GOOD = tiny.laguna().to_bytes()
HEADER_BYTES = GOOD.index(b"blk.3.ffn_down_shexp.weight") + 60
VOCABULARY = range(GOOD.index(b"tokenizer.ggml.tokens"), GOOD.index(b"tokenizer.ggml.bos_token_id"))
MEMORY_LIMIT = 50_000_000
SECONDS_LIMIT = 2.0

positions = st.integers(0, HEADER_BYTES - 1)
flips = st.tuples(st.just("flip"), positions, st.integers(0, 7))
inserts = st.tuples(st.just("insert"), positions, st.binary(min_size=1, max_size=12))
deletes = st.tuples(st.just("delete"), positions, st.integers(1, 12))
numbers = st.tuples(st.just("write"), positions, st.sampled_from([b"\0" * 4, b"\xff" * 4, b"\xff" * 8, b"\1\0\0\0"]))
cuts = st.tuples(st.just("cut"), st.integers(0, len(GOOD)), st.none())


def damaged(changes: list[tuple]) -> bytes:
    data = bytearray(GOOD)
    for what, place, value in changes:
        at = min(place, max(len(data) - 1, 0))
        match what:
            case "flip" if data:
                data[at] ^= 1 << value
            case "insert":
                data[at:at] = value
            case "delete":
                del data[at : at + value]
            case "write":
                data[at : at + len(value)] = value
            case "cut":
                del data[at:]
    return bytes(data)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "model.gguf"


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.one_of(flips, inserts, deletes, numbers, cuts), min_size=1, max_size=4))
def test_any_damage_gives_a_header_or_a_sentence(scratch: Path, changes: list[tuple]) -> None:
    scratch.write_bytes(damaged(changes))
    started = time.process_time()
    try:
        assert header.check(scratch).architecture
    except ModelFileError as error:
        assert str(error).startswith(f"{scratch}: ")
    assert time.process_time() - started < SECONDS_LIMIT


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_after_the_magic_give_a_sentence(scratch: Path, data: bytes) -> None:
    scratch.write_bytes(b"GGUF\3\0\0\0" + data)
    with pytest.raises(ModelFileError):
        header.check(scratch)


def large_vocabulary(count: int) -> tiny.GgufFile:
    """A tiny model with as many tokens and merges as a real one."""
    file = tiny.laguna(tiny.Shape(n_vocab=count))
    return file.set("tokenizer.ggml.merges", [f"a{i} b{i}" for i in range(count)])


def test_a_real_vocabulary_is_checked_fast_and_in_little_memory(scratch: Path) -> None:
    large_vocabulary(100_352).write(scratch)
    started = time.process_time()
    header.check(scratch)
    assert time.process_time() - started < SECONDS_LIMIT
    assert peak_memory(scratch) < MEMORY_LIMIT


def test_a_vocabulary_beyond_reason_is_given_up_early(scratch: Path) -> None:
    tiny.laguna().set("tokenizer.ggml.tokens", [""] * (vocabulary.MAX_VOCABULARY + 1)).write(scratch)
    with pytest.raises(ModelFileError) as error:
        header.check(scratch)
    assert str(error.value) == (
        f"{scratch}: its vocabulary has more than 524288 tokens; the file is damaged: download it again"
    )


def test_a_long_list_is_counted_and_not_kept(scratch: Path) -> None:
    tiny.laguna().set("general.tags", ["x" * 300] * 100_000).write(scratch)
    assert peak_memory(scratch) < scratch.stat().st_size / 4


def peak_memory(path: Path) -> int:
    """Peak bytes allocated by Python while checking `path`."""
    tracemalloc.start()
    try:
        header.check(path)
    except ModelFileError:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return peak


OPEN_ALL = """
import faulthandler, sys
from pathlib import Path
from laguna_engine.errors import EngineError
from laguna_engine.llama.context import Context
from laguna_engine.llama.context import ContextOptions
from laguna_engine.llama.model import Model
faulthandler.enable()
opened = 0
for path in map(Path, sys.argv[1:]):
    print(path.name, file=sys.stderr)
    try:
        model = Model.open(path)
        context = Context(model, ContextOptions(n_ctx=256, n_batch=32, threads=1))
        context.decode(model.vocab.tokenize("def add(a, b):", special=True) or [5], 0)
        context.close()
        model.close()
        opened += 1
    except EngineError:
        pass
print(opened)
"""
SAMPLE = 36


def test_what_passes_the_check_does_not_kill_llama_cpp(tmp_path: Path) -> None:
    """A fixed sample of damage outside the vocabulary's texts, all opened by one child process."""
    random = Random(20)
    places = [place for place in range(HEADER_BYTES) if place not in VOCABULARY]
    passing: list[str] = []
    while len(passing) < SAMPLE:
        path = tmp_path / f"{len(passing)}.gguf"
        path.write_bytes(damaged([("flip", random.choice(places), random.randrange(8))]))
        try:
            header.check(path)
        except ModelFileError:
            continue
        passing.append(str(path))
    command = [sys.executable, "-c", OPEN_ALL, *passing]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    assert int(run.stdout) > SAMPLE / 2
