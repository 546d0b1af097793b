"""Plug-ins for cards are found beside llama.cpp; one that is of another release or does not load costs nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

from laguna_engine.native.plugins import PACKAGE
from laguna_engine.native.selftest import BINDING_VERSION

FOUND = """
import sys
sys.path.insert(0, sys.argv[1])
from laguna_engine.native import library, plugins
print(*[path.name for path in plugins.card_plugins()])
print(*library.backend_names())
print(*library.log.recent())
"""


def put(site: Path, *, version: str = BINDING_VERSION) -> None:
    """Install a plug-in that is no library."""
    library, info = site / PACKAGE / "libggml-cuda-sm86.so", site / f"laguna_ggml_cuda_sm86-{version}.dist-info"
    for path, text in (
        (library, "no library"),
        (info / "METADATA", f"Name: laguna-ggml-cuda-sm86\nVersion: {version}\n"),
    ):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def found(site: Path) -> list[str]:
    """The plug-ins that a new process finds in the folder, its backends, and llama.cpp's log."""
    run = subprocess.run([sys.executable, "-c", FOUND, str(site)], capture_output=True, text=True, check=True)
    return run.stdout.splitlines()


@pytest.mark.skipif(sys.platform == "darwin", reason="there are plug-ins for NVIDIA's cards only")
def test_a_plug_in_that_does_not_load_leaves_the_processor_and_a_reason(tmp_path: Path):
    put(tmp_path)
    plugins, backends, log = found(tmp_path)
    assert plugins == "libggml-cuda-sm86.so"
    assert "CPU" in backends
    assert "failed to load" in log
    assert "libggml-cuda-sm86.so" in log


def test_a_plug_in_of_another_release_is_left_alone(tmp_path: Path):
    put(tmp_path, version="0.3.35")
    plugins, backends, log = found(tmp_path)
    assert plugins == ""
    assert "CPU" in backends
    assert "libggml-cuda-sm86.so" not in log
