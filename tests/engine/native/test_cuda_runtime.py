"""CUDA's runtime from Python packages is opened before llama.cpp. The tests use a small real library instead."""

import _ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="/proc/self/maps tells what is open")

PROGRAM = """
import sys
from pathlib import Path
sys.path.append(sys.argv[1])
from laguna_engine.native.plugins import preload
preload(Path(sys.argv[2]))
print("libcudart.so.12" in Path("/proc/self/maps").read_text())
"""


@pytest.fixture
def places(tmp_path):
    """A site-packages folder with a libcudart, and a folder with llama.cpp's libraries."""
    held = tmp_path / "site" / "nvidia" / "cuda_runtime" / "lib"
    held.mkdir(parents=True)
    shutil.copy(_ctypes.__file__, held / "libcudart.so.12")
    libraries = tmp_path / "lib"
    libraries.mkdir()
    return tmp_path / "site", libraries


def opened(site, libraries):
    command = [sys.executable, "-c", PROGRAM, str(site), str(libraries)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "True"


def test_a_cuda_build_gets_the_runtime_that_packages_hold(places):
    site, libraries = places
    (libraries / "libggml-cuda.so").write_bytes(b"")
    assert opened(site, libraries)


def test_other_builds_open_nothing(places):
    assert not opened(*places)


def test_a_damaged_library_is_left_to_the_loaders_own_complaint(places):
    site, libraries = places
    (libraries / "libggml-cuda.so").write_bytes(b"")
    (site / "nvidia/cuda_runtime/lib/libcudart.so.12").write_bytes(b"no library")
    assert not opened(site, libraries)
