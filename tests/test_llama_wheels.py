"""The portable wheel of llama-cpp-python: checked before it is released, from the sources that are locked."""

import importlib.metadata
import json
import platform
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from laguna_engine.native import plugins
from laguna_tui.machine.setup_gpu.builds import BUILDS, PrebuiltBuild
from tests.test_manual import TOP, script

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
    with pytest.raises(wheels.Wrong, match="there is no plug-in 90; it must be one of 75, 86, 89, 120 or vulkan"):
        wheels.plugin_of("90")


@pytest.mark.parametrize("build", [each for each in BUILDS.values() if each.plugin], ids=lambda each: each.name)
def test_setup_gpu_asks_for_the_plug_ins_that_are_packed(build: PrebuiltBuild):
    plugin = wheels.plugin_of(build.name.removeprefix("sm").removesuffix("-plugin"))
    assert build.plugin == f"laguna-ggml-{plugin.name}"
    assert plugin.options["GGML_BACKEND_DL"] == plugin.options[f"GGML_{plugin.backend.upper()}"] == "ON"
    # What the wheel leaves out comes with packages that are fetched, or with the card's driver.
    assert {each.split("=")[0] for each in build.packages} == {each.split(">")[0] for each in plugin.packages}
    assert set(build.libraries) <= set(plugin.outside)


@pytest.mark.skipif(sys.platform == "darwin", reason="wheels for Linux are repaired by auditwheel")
def test_a_plug_in_becomes_a_wheel_that_the_engine_takes_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def packed(*command: object, **_: object) -> None:
        if str(command[0]).endswith("wheel"):
            tree, folder = Path(str(command[-1])), Path(str(command[-2]))
            with zipfile.ZipFile(folder / "laguna_ggml_vulkan-0.3.36-py3-none-linux_x86_64.whl", "w") as archive:
                for path in tree.rglob("*"):
                    archive.write(path, path.relative_to(tree))

    monkeypatch.setattr(wheels, "_run", packed)
    monkeypatch.setattr(wheels, "repaired", lambda made, *_: made)
    source, library = tmp_path / "source", tmp_path / "libggml-vulkan.so"
    (source / wheels.LLAMA_LICENSE).parent.mkdir(parents=True)
    (source / wheels.LLAMA_LICENSE).write_text("MIT", encoding="utf-8")
    library.write_bytes(b"a library")
    (tmp_path / "out").mkdir()
    made = wheels.plugin_wheel(library, wheels.plugin_of("vulkan"), source, tmp_path, tmp_path, tmp_path / "out")
    with zipfile.ZipFile(made) as archive:
        archive.extractall(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert [path.name for path in plugins.card_plugins()][-1:] == ["libggml-vulkan.so"]
    assert importlib.metadata.requires("laguna-ggml-vulkan") == ["llama-cpp-python==0.3.36"]
    monkeypatch.setattr(wheels, "LARGEST_PLUGIN", 10)
    with pytest.raises(wheels.Wrong, match="bytes are more than 10"):
        wheels.plugin_wheel(library, wheels.plugin_of("vulkan"), source, tmp_path, tmp_path, tmp_path / "out")


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


BACKENDS = ("x64", "haswell", "cascadelake", "zen4")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="only backends for x86-64 are tuned")
def test_backends_for_one_family_of_processors_are_tuned_for_it(tmp_path: Path):
    source, build = tmp_path / "source", tmp_path / "build"
    (source / "src").mkdir(parents=True)
    top = "cmake_minimum_required(VERSION 3.19)\nproject(ggml C)\nadd_subdirectory(src)\n"
    (source / "CMakeLists.txt").write_text(top, encoding="utf-8")
    (source / "src/CMakeLists.txt").write_text(
        "".join(f"add_library(ggml-cpu-{each} backend.c)\n" for each in BACKENDS), encoding="utf-8"
    )
    (source / "src/backend.c").write_text("int backend;\n", encoding="utf-8")
    given = ("-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", f"-DCMAKE_PROJECT_ggml_INCLUDE={wheels.TUNING}")
    try:
        run = subprocess.run(["cmake", "-S", source, "-B", build, *given], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no CMake")
    if "or higher is required" in run.stderr:
        pytest.skip("CMake is too old")
    assert run.returncode == 0, run.stderr
    tuned: dict[str, list[str]] = {}
    for each in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        backend = re.findall(r"ggml-cpu-(\w+)\.dir", each["command"])[0]
        tuned[backend] = re.findall(r"-mtune=(\S+)", each["command"])
    assert tuned["x64"] == tuned["haswell"] == []
    assert tuned["cascadelake"] == ["cascadelake"]
    # GCC knows znver4 since 12.3.
    assert tuned["zen4"] in (["znver4"], ["znver3"])
