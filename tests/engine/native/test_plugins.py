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
from laguna_engine.native import library
from laguna_engine.native import plugins
print(*[path.name for path in plugins.card_plugins()])
print(*library.backend_names())
print(*library.log.recent())
"""


def put(site: Path, name: str = "cuda-sm86", *, version: str = BINDING_VERSION) -> None:
    """Install a plug-in that is no library."""
    library = site / PACKAGE / f"libggml-{name}.so"
    info = site / f"laguna_ggml_{name.replace('-', '_')}-{version}.dist-info"
    for path, text in (
        (library, "no library"),
        (info / "METADATA", f"Name: laguna-ggml-{name}\nVersion: {version}\n"),
    ):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def found(site: Path) -> list[str]:
    """The plug-ins that a new process finds in the folder, its backends, and llama.cpp's log."""
    run = subprocess.run([sys.executable, "-c", FOUND, str(site)], capture_output=True, text=True, check=True)
    return run.stdout.splitlines()


@pytest.mark.skipif(sys.platform == "darwin", reason="there are plug-ins for Linux only")
def test_a_plug_in_that_does_not_load_leaves_the_processor_and_a_reason(tmp_path: Path):
    put(tmp_path)
    plugins, backends, log = found(tmp_path)
    assert "libggml-cuda-sm86.so" in plugins.split()
    assert "CPU" in backends
    assert "failed to load" in log
    assert "libggml-cuda-sm86.so" in log


@pytest.mark.skipif(sys.platform == "darwin", reason="there are plug-ins for Linux only")
def test_the_plug_in_for_all_vendors_is_tried_where_the_one_for_nvidia_finds_no_card(tmp_path: Path):
    put(tmp_path)
    put(tmp_path, "vulkan")
    plugins, backends, log = found(tmp_path)
    assert plugins.split()[:2] == ["libggml-cuda-sm86.so", "libggml-vulkan.so"]
    assert "CPU" in backends
    assert log.index("libggml-cuda-sm86.so") < log.index("libggml-vulkan.so")


def test_a_plug_in_of_another_release_is_left_alone(tmp_path: Path):
    put(tmp_path, version="0.3.35")
    plugins, backends, log = found(tmp_path)
    assert "libggml-cuda-sm86.so" not in plugins.split()
    assert "CPU" in backends
    assert "libggml-cuda-sm86.so" not in log


def test_a_plugin_is_described_without_opening_a_driver(tmp_path: Path):
    put(tmp_path)
    program = (
        "import sys\nsys.path.insert(0, sys.argv[1])\nfrom laguna_engine.native.build_info import describe_build\n"
        "print(describe_build())\nprint('laguna_engine.native.library' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)
    described = f"llama-cpp-python {BINDING_VERSION}, GPU plug-in laguna-ggml-cuda-sm86; kernels: laguna-tui doctor"
    assert run.stdout.splitlines() == [described, "False"]
