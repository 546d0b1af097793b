"""The portable wheel of llama-cpp-python: checked before it is released, from the sources that are locked."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from laguna_engine.native import plugins
from tests.test_readme import TOP, script

wheels = script(TOP / "packaging/llama_wheels.py")

GENERATIONS = (
    *("x64", "sse42", "sandybridge", "ivybridge", "piledriver", "haswell", "skylakex", "icelake", "zen4", "alderlake"),
)
LIBRARIES = [*wheels.LIBRARIES["Linux"], *(f"libggml-cpu-{each}.so" for each in GENERATIONS)]
NAME = "llama_cpp_python-0.3.36-py3-none-manylinux_2_34_x86_64.whl"


def problems(folder: Path, libraries: list[str], name: str = NAME) -> list[str]:
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        for library in ["", *libraries]:
            archive.writestr(f"llama_cpp/lib/{library}", b"")
    return list(wheels.wheel_problems(path, "Linux", "x86_64"))


def test_a_wheel_with_each_library_once_and_kernels_for_each_generation_is_right(tmp_path: Path):
    assert problems(tmp_path, LIBRARIES) == []


@pytest.mark.parametrize("missing", wheels.LIBRARIES["Linux"])
def test_a_library_that_is_missing_is_named(missing: str, tmp_path: Path):
    assert problems(tmp_path, [name for name in LIBRARIES if name != missing]) == [f"{missing} is missing"]


def test_what_does_not_belong_into_it_is_named(tmp_path: Path):
    assert problems(tmp_path, [*LIBRARIES, "libllama.so.0.5.0"]) == ["libllama.so.0.5.0 does not belong in it"]


def test_too_few_kernels_and_a_wheel_for_one_system_only_are_named(tmp_path: Path):
    assert problems(tmp_path, LIBRARIES[:-3]) == ["it has only 7 CPU backends"]
    unrepaired = NAME.replace("manylinux_2_34", "linux")
    assert problems(tmp_path, LIBRARIES, unrepaired) == ["it runs only on Linux systems like this one"]


def test_only_the_locked_sdist_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    commands: list[list[str]] = []

    def refused(*command: object, **_: object) -> None:
        commands.append([str(word) for word in command])
        raise wheels.Wrong("no network")

    monkeypatch.setattr(wheels, "_run", refused)
    with pytest.raises(wheels.Wrong):
        wheels.sources(tmp_path, tmp_path)
    assert "--require-hashes" in commands[0]
    pinned = (tmp_path / "sdist.txt").read_text(encoding="utf-8")
    assert re.fullmatch(r"llama-cpp-python==0\.3\.36 --hash=sha256:[0-9a-f]{64}\n", pinned)


def test_a_card_that_no_plug_in_is_made_for_is_refused():
    with pytest.raises(wheels.Wrong, match="--cuda 90: it must be one of 75, 86, 89, 120"):
        wheels.cuda_options("90")


def test_the_engine_looks_for_plug_ins_where_they_are_packed():
    assert plugins.PACKAGE == wheels.PLUGIN_FOLDER


@pytest.mark.skipif(sys.platform == "darwin", reason="only builds for Linux include it")
def test_the_header_for_amx_changes_nothing_of_builds_for_other_processors():
    source = f'#include "{wheels.AMX_FIX}"\n#ifdef _tile_loadconfig\n#error changed\n#endif\n'
    try:
        run = subprocess.run(["c++", "-x", "c++", "-E", "-"], input=source, text=True, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no compiler")
    assert run.returncode == 0, run.stderr
