"""Property tests try the same examples on every run, so that CI tells of the change and not of the day.

`make fuzz` looks further, with other examples each time; what it finds becomes an `@example`.

The user's own settings, sessions and caches are neither read nor written: every process here sees empty ones.

Cards are hidden, because most tests expect the processor's rounding and memory. With LAGUNA_TUI_CARD=1 they are not:
`LAGUNA_TUI_CARD=1 pytest tests/engine/test_on_a_card.py`.

With LAGUNA_TUI_DEAD_BUFFERS=1 in the environment the tests run as on a processor on which weights in an order of its
own (repacked, AMX) crash llama.cpp: `LAGUNA_TUI_DEAD_BUFFERS=1 make test`.
"""

import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Before anything asks for a folder. pip keeps its configuration and its cache, which tests that install would miss.
_config = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
_cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
if (_config / "pip/pip.conf").exists():
    os.environ.setdefault("PIP_CONFIG_FILE", str(_config / "pip/pip.conf"))
os.environ.setdefault("PIP_CACHE_DIR", str(_cache / "pip"))
_home = tempfile.TemporaryDirectory(prefix="laguna-tui-tests-", ignore_cleanup_errors=True)
for _kind in ("CACHE", "CONFIG", "DATA", "STATE"):
    os.environ[f"XDG_{_kind}_HOME"] = f"{_home.name}/{_kind.lower()}"

if not os.environ.get("LAGUNA_TUI_CARD"):
    os.environ |= {"CUDA_VISIBLE_DEVICES": "-1", "HIP_VISIBLE_DEVICES": "-1", "GGML_VK_VISIBLE_DEVICES": ""}

# A run in the background may have been started with these ignored: what a test starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("fuzz", max_examples=1000, deadline=None, print_blob=True)
settings.load_profile("fuzz" if os.environ.get("LAGUNA_TUI_FUZZ") else "fixed")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test marked `sampled(n)`, leave every n-th case in the default run and mark the others as long."""
    cases = Counter[object]()
    for item in items:
        if marker := item.get_closest_marker("sampled"):
            test = item.nodeid.partition("[")[0]
            if cases[test] % marker.args[0]:
                item.add_marker(pytest.mark.long)
            cases[test] += 1


@pytest.fixture(autouse=True)
def verdicts_stay_in_this_run() -> Iterator[None]:
    """What child processes found out in one test is not kept in the user's folder by the next."""
    yield
    module = sys.modules.get("laguna_engine.native.verdicts")
    if module is not None:
        module.verdicts._path = None


@pytest.fixture
def unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands run as the mode and the rules say, also under Landlock, where those that may write are asked about.

    For tests that are about something else; the commands stay in the sandbox that there is.
    """
    monkeypatch.setattr("laguna_tui.sandbox.probe.approval_reason", lambda command, status, unhidden=None: "")


if os.environ.get("LAGUNA_TUI_DEAD_BUFFERS"):
    from laguna_engine.ggml import extra_buffers
    from laguna_engine.ggml.device import ComputeBackend
    from laguna_engine.native.verdicts import verdicts

    _backend = ComputeBackend.cpu()
    for _kind in _backend.extra_buffer_types():
        verdicts.put(extra_buffers.subject(extra_buffers.name_of(_kind)), "it crashes with SIGSEGV")
    _backend.close()
