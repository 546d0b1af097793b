"""A failed assertion in llama.cpp loses the thread; the process survives and all waiting threads wake.

Each case runs in a child process, because the assertion is that the process survives.
"""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from laguna_engine.errors import NativeAbort
from laguna_engine.native.abort import AbortWatch
from tests.app.sandbox.guarded import run_guarded
from tests.engine import tiny

PRELUDE = """
import ctypes, os, sys, threading
from pathlib import Path
from laguna_engine.errors import NativeAbort
from laguna_engine.llama.context import Context
from laguna_engine.llama.context import ContextOptions
from laguna_engine.llama.model import Model
from laguna_engine.config import GREEDY
from laguna_engine.llama.sampler import SamplerChain
from laguna_engine.native.abort import AbortWatch, install
from tests.app.sandbox.guarded import run_guarded
from laguna_engine.native.library import lib
from laguna_engine.native.structs import Batch
good, bad = Path(sys.argv[1]), Path(sys.argv[2])

def answer():
    model = Model.open(good)
    context, chain = Context(model, ContextOptions(n_ctx=256, n_batch=64, threads=2)), SamplerChain(GREEDY, 512)
    context.decode([5, 6, 7], 0)
    return context.sample(chain)

def too_many_tokens():
    context = Context(Model.open(good), ContextOptions(n_ctx=256, n_batch=64, threads=2))
    tokens = (ctypes.c_int32 * 65)(*[5] * 65)
    lib.llama_decode(context._handle, Batch(65, tokens))

def too_many_experts():
    lib.llama_model_load_from_file(os.fsencode(bad), lib.llama_model_default_params())
"""

CONTAINED = """
expected = answer()
for function in (too_many_tokens, too_many_experts):
    try:
        run_guarded(function)
    except NativeAbort as error:
        print(error)
    assert run_guarded(answer) == expected
print("alive")
"""

WAITERS = """
install()
watch, ready = AbortWatch(), threading.Event()
def engine():
    with watch.guard():
        ready.wait()
        too_many_tokens()
threading.Thread(target=engine, daemon=True).start()
woken = []
def wait():
    try:
        watch.wait(threading.Event())
    except NativeAbort as error:
        woken.append(str(error))
waiters = [threading.Thread(target=wait) for _ in range(3)]
for waiter in waiters:
    waiter.start()
ready.set()
for waiter in waiters:
    waiter.join(20)
print(len(woken), len(set(woken)))
"""

UNWATCHED_OTHERS = """
other = AbortWatch()
running, finish = threading.Event(), threading.Event()
def healthy():
    with other.guard():
        running.set()
        finish.wait()
threading.Thread(target=healthy, daemon=True).start()
running.wait()
try:
    run_guarded(too_many_tokens)
except NativeAbort:
    print(other.message)
"""


def run_python(code: str, *arguments: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PRELUDE + code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(scope="module")
def greedy_experts_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model file that uses more experts than it has."""
    file = tiny.laguna().set("laguna.expert_used_count", 9)
    return file.write(tmp_path_factory.mktemp("abort") / "experts.gguf")


def test_real_aborts_are_contained_and_a_fresh_engine_works(tiny_model_path: Path, greedy_experts_path: Path) -> None:
    run = run_python(CONTAINED, tiny_model_path, greedy_experts_path)
    assert (run.returncode, run.stderr) == (0, "")
    batch, experts, last = run.stdout.splitlines()
    assert "(src/llama-context.cpp:" in batch
    assert "n_tokens_all <= cparams.n_batch" in batch
    assert "n_expert_used_max <= hparams.n_expert" in experts
    assert all("open the model again" in message for message in (batch, experts))
    assert last == "alive"


def test_everyone_who_waits_is_woken(tiny_model_path: Path, greedy_experts_path: Path) -> None:
    run = run_python(WAITERS, tiny_model_path, greedy_experts_path)
    assert (run.returncode, run.stdout, run.stderr) == (0, "3 1\n", "")


def test_an_abort_is_told_to_its_own_engine_only(tiny_model_path: Path, greedy_experts_path: Path) -> None:
    run = run_python(UNWATCHED_OTHERS, tiny_model_path, greedy_experts_path)
    assert (run.returncode, run.stdout, run.stderr) == (0, "None\n", "")


def test_a_guarded_call_returns_its_result_or_raises_its_error() -> None:
    assert run_guarded(lambda: 42) == 42
    with pytest.raises(ZeroDivisionError):
        run_guarded(lambda: 1 // 0)


def test_waiting_ends_with_the_event_or_the_timeout() -> None:
    watch, done = AbortWatch(), threading.Event()
    assert watch.wait(done, timeout=0.01) is False
    done.set()
    assert watch.wait(done) is True


def test_a_listener_that_comes_late_is_called_at_once() -> None:
    watch, heard = AbortWatch(), threading.Event()
    watch._notify("somewhere.cpp:1: it failed")
    watch.listen(heard.set)
    assert heard.is_set()
    with pytest.raises(NativeAbort, match=r"somewhere\.cpp:1"):
        watch.check()
