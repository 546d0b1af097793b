"""A setup that is killed anywhere never ends in an environment without llama.cpp, and the next run puts it in order.

Many minutes: every step of a whole setup is a case, with a real pip in an environment of its own.
"""

import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.app.machine.setup_gpu import fake_builds
from tests.test_manual import TOP

MOST_STEPS = 200


def killed_at(step: int, place: SimpleNamespace, wheel: Path, kind: str) -> bool:
    """Whether a setup dies at this step; False if it is over before."""
    arguments = [str(place.folder / "state"), place.python, str(wheel), kind, str(step)]
    command = [sys.executable, "-m", "tests.app.machine.setup_gpu.killed_setup", *arguments]
    code = subprocess.run(command, cwd=TOP, capture_output=True, check=False).returncode
    assert code in (0, -signal.SIGKILL)
    return code != 0


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["build", "plugin"])
def test_wherever_it_is_killed_there_is_a_llama_cpp_and_the_next_run_puts_it_in_order(place, kind: str):
    plugin = {"name": "laguna_ggml_cuda_sm86", "package": "laguna_ggml_plugins"} if kind == "plugin" else {}
    wheel = fake_builds.wheel(place.folder / "new", fake_builds.GPU, **plugin)
    done = fake_builds.CPU if plugin else fake_builds.GPU
    steps = settled = 0
    while killed_at(steps, place, wheel, kind):
        exchange = place.exchange()
        undone, record = exchange.recover(), exchange.rollback.last()
        assert exchange.rollback.pending() is None
        if record is not None:
            # Only its last traces were left to be removed.
            assert not undone
            assert fake_builds.says(place.python) == done
            exchange.roll_back(record)
            settled += 1
        assert fake_builds.says(place.python) == fake_builds.CPU, f"killed at step {steps}"
        assert not list(place.site.glob("laguna_ggml_*"))
        steps += 1
        assert steps < MOST_STEPS
    assert steps - settled > 10
    assert fake_builds.says(place.python) == done


def test_a_setup_that_is_killed_while_pip_replaces_the_build_is_undone(place):
    """The worst moment: the build is gone, its successor is not there yet."""
    exchange = place.exchange()
    exchange.rollback.prepare()
    exchange.rollback.set_aside(exchange.rollback.begin(place.site, "cu124", ()))
    assert fake_builds.says(place.python) is None
    assert place.exchange().recover()
    assert fake_builds.says(place.python) == fake_builds.CPU
