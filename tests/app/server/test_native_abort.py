"""An abort inside llama.cpp costs the request that it happens in; those that wait are answered by a fresh engine."""

import json
import subprocess
import sys

ABORT = """
import ctypes, json, sys, threading
from laguna_engine.native.library import lib
from laguna_engine.native.structs import Batch
from laguna_tui.session.engine_slot import keep_open
from tests.app.server.serving import WAIT_S, served

said, found, done, all_wait = [], {}, threading.Event(), threading.Event()

def ask(name):
    answered = server.ask("POST", "/v1/completions", {"prompt": name, "max_tokens": 3}, {"User-Agent": name})
    found[name] = (answered.status, answered.body.get("error", {}).get("message", ""))

def abort(*_):
    # More tokens than a batch may have; no code of ours does that.
    all_wait.wait(WAIT_S)
    return lib.llama_decode(context._handle, Batch(513, (ctypes.c_int32 * 513)(*[5] * 513)))

def clients():
    ask("before")
    before.decode = abort
    threads = [threading.Thread(target=ask, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    while server.metrics()["requests_waiting"] < 2:
        done.wait(0.01)
    all_wait.set()
    for thread in threads:
        thread.join()
    ask("after")
    done.set()

with served(sys.argv[1]) as server:
    first = server.slot.engine
    before = context = first._sequence.context
    thread = threading.Thread(target=clients)
    thread.start()
    keep_open(server.slot, lambda seconds: done.wait(0.05), said.append)
    thread.join()
    print(json.dumps({"found": found, "said": said, "lost": first.lost, "fresh": server.slot.healthy().lost}))
"""


def test_after_an_abort_the_others_are_answered(tiny_model_path):
    """In a child process, because the engine's thread never ends."""
    command = [sys.executable, "-c", ABORT, str(tiny_model_path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    told = json.loads(run.stdout)
    found = told["found"]
    failed = [name for name, (status, _) in found.items() if status != 200]
    assert len(failed) == 1, found
    assert failed[0] in "abc"
    status, message = found[failed[0]]
    assert status == 500
    assert "n_tokens_all <= cparams.n_batch" in message
    assert message.endswith("send this one once more, and report the message if it appears again.")
    assert (told["lost"], told["fresh"]) == (True, False)
    assert [sentence.partition(",")[0] for sentence in told["said"]] == [
        "llama.cpp stopped on a failed check. Opening the model again …",
        "The model is open again.",
    ]
