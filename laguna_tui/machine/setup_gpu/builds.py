"""Builds of llama.cpp for a machine: this project's plug-ins, prebuilt wheels, the libraries they need, the source.

A plug-in is a backend alone, CUDA's for one architecture of cards or Vulkan's for every vendor's: it goes beside the
installed build instead of replacing it, and is the smallest download. The indexes are those of llama-cpp-python; the
requirements of each follow from the workflows that build the wheels (`.github/workflows/build-wheels-*.yaml`, release
0.3.36).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from laguna_engine.native.selftest import BINDING_VERSION
from laguna_tui.base.errors import UserError
from laguna_tui.machine.doctor.gpus import Graphics, Vendor, Version, card_names
from laguna_tui.machine.doctor.host import Host
from laguna_tui.machine.doctor.llama_build import source_command

PACKAGE = "llama-cpp-python"

INDEX = "https://abetlen.github.io/llama-cpp-python/whl"
"""The project's own index; each tag is an index below it."""


@dataclass(frozen=True, slots=True)
class PrebuiltBuild:
    """A prebuilt build.

    Attributes:
        name: Tag of its index, or name of the plug-in.
        title: Name to show.
        libraries: Libraries its wheels need and do not contain.
        packages: Python packages with these libraries.
        plugin: Distribution of a plug-in; empty for a build that replaces the installed one.
    """

    name: str
    title: str
    libraries: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    plugin: str = ""

    @property
    def distribution(self) -> str:
        """Name of the distribution that is downloaded."""
        return self.plugin or PACKAGE

    @property
    def requirement(self) -> str:
        """The requirement for pip: a plug-in has the version of the llama.cpp that it fits."""
        return f"{self.distribution}=={BINDING_VERSION}"


@dataclass(frozen=True, slots=True)
class _Cuda:
    """A CUDA build.

    The 12 and 13 builds contain PTX, which the driver compiles for newer cards than `last`; 11.8 does not.

    Attributes:
        toolkit: CUDA version.
        least: Lowest compute capability it has code for.
        last: Highest one; None with PTX.
    """

    toolkit: Version
    least: Version
    last: Version | None = None

    def runs(self, driver: Version, capability: Version | None) -> bool:
        """Return whether a card of this capability runs it with a driver for this CUDA version."""
        if capability is None:
            return self.toolkit <= driver
        return self.toolkit <= driver and self.least <= capability <= (self.last or capability)

    def build(self) -> PrebuiltBuild:
        """Return the prebuilt build of its index."""
        major, minor = self.toolkit
        version = f"{major}.{minor}"
        suffix = {11: "-cu11", 12: "-cu12"}.get(major, "")
        cublas = "11.11" if major == 11 else version
        return PrebuiltBuild(
            f"cu{major}{minor}",
            f"CUDA {version}",
            (f"libcudart.so.{'11.0' if major == 11 else major}", f"libcublas.so.{major}"),
            (f"nvidia-cuda-runtime{suffix}=={version}.*", f"nvidia-cublas{suffix}=={cublas}.*"),
        )


_CUDA = (
    _Cuda((13, 2), (7, 5)),
    _Cuda((13, 0), (7, 5)),
    _Cuda((12, 5), (6, 0)),
    _Cuda((12, 4), (6, 0)),
    _Cuda((12, 3), (6, 0)),
    _Cuda((12, 2), (6, 0)),
    _Cuda((12, 1), (6, 0)),
    _Cuda((11, 8), (6, 0), (8, 9)),
)
_ROCM_VERSION: Version = (7, 2)
_ROCM = PrebuiltBuild("rocm72", "ROCm 7.2")
_VULKAN = PrebuiltBuild("vulkan", "Vulkan")
_VULKAN_PLUGIN = PrebuiltBuild("vulkan-plugin", "Vulkan, as a plug-in", plugin="laguna-ggml-vulkan")
_ANY_VULKAN = (_VULKAN_PLUGIN, _VULKAN)
_METAL = PrebuiltBuild("metal", "Metal")

_PLUGIN_TOOLKIT: Version = (13, 0)
_PLUGIN_CARDS: tuple[tuple[Version, Version], ...] = (
    ((7, 5), (7, 5)),
    ((8, 6), (8, 7)),
    ((8, 9), (8, 9)),
    ((12, 0), (12, 1)),
)
"""The compute capability that each plug-in is compiled for, and the highest one that runs its code."""


def _plugin(capability: Version) -> PrebuiltBuild:
    major, minor = capability
    runtime = _CUDA[1].build()
    name, title = f"sm{major}{minor}", f"CUDA 13, as a plug-in for compute capability {major}.{minor}"
    packages = ("nvidia-cuda-runtime==13.*", "nvidia-cublas==13.*")
    return PrebuiltBuild(name, title, runtime.libraries, packages, f"laguna-ggml-cuda-{name}")


_PLUGINS = tuple(_plugin(least) for least, _ in _PLUGIN_CARDS)

BUILDS = {build.name: build for build in (*_PLUGINS, *(cuda.build() for cuda in _CUDA), _ROCM, *_ANY_VULKAN, _METAL)}


def named_builds(name: str) -> tuple[PrebuiltBuild, ...]:
    """Return the build that a user names; with `vulkan` its plug-in first, and the index's wheel where there is none.

    Raises:
        UserError: There is no such build.
    """
    if name == _VULKAN.name:
        return _ANY_VULKAN
    if name not in BUILDS:
        raise UserError(f"--tag {name}: it must be one of {', '.join(BUILDS)}")
    return (BUILDS[name],)


def choose_builds(graphics: Graphics, host: Host) -> tuple[PrebuiltBuild, ...]:
    """Return the builds that fit, the best one first; the others are used when its index lacks the version.

    Raises:
        UserError: None fits; the message says why and what to do.
    """
    if host.system == "Darwin" and graphics.of(Vendor.APPLE):
        return (_METAL,)
    if not graphics.worth_using:
        raise UserError(_why_no_card(graphics))
    if host.system != "Linux" or host.processor not in ("x86_64", "AMD64"):
        where = f"{host.system} on {host.processor}"
        raise UserError(f"there are no prebuilt GPU wheels for {where}; build one: laguna-tui setup gpu --source")
    if graphics.of(Vendor.NVIDIA) and not graphics.is_driver_working:
        cards = card_names(graphics.of(Vendor.NVIDIA))
        raise UserError(f"{cards}: {graphics.trouble}; fix the driver first; for how, run: laguna-tui doctor")
    builds = (*_nvidia(graphics), *_amd(graphics), *(_ANY_VULKAN if graphics.vulkan else ()))
    if not builds:
        raise UserError(_why_none(graphics))
    return builds


def _nvidia(graphics: Graphics) -> tuple[PrebuiltBuild, ...]:
    cards = graphics.of(Vendor.NVIDIA)
    cuda = graphics.cuda
    if not cards or cuda is None:
        return ()
    fitting = [build for build in _CUDA if all(build.runs(cuda, card.capability) for card in cards)]
    return (*_plugins(cuda, [card.capability for card in cards]), *(each.build() for each in fitting))


def _plugins(driver: Version, capabilities: Sequence[Version | None]) -> tuple[PrebuiltBuild, ...]:
    """Return the plug-in that runs on all cards, if there is one and the driver is new enough."""
    if driver < _PLUGIN_TOOLKIT:
        return ()
    return tuple(
        plugin
        for plugin, (least, last) in zip(_PLUGINS, _PLUGIN_CARDS, strict=True)
        if all(each is not None and least <= each <= last for each in capabilities)
    )


def _amd(graphics: Graphics) -> tuple[PrebuiltBuild, ...]:
    there = any(card.vendor is Vendor.AMD for card in graphics.worth_using)
    return (_ROCM,) if there and graphics.rocm == _ROCM_VERSION else ()


def _why_no_card(graphics: Graphics) -> str:
    if not graphics.cards:
        return "no graphics card was found; see: laguna-tui doctor"
    return (
        f"{card_names(graphics.cards)} is hardly faster than this processor; to try it anyway: "
        "laguna-tui setup gpu --tag vulkan"
    )


def _why_none(graphics: Graphics) -> str:
    cards = card_names(graphics.worth_using)
    if graphics.of(Vendor.NVIDIA) and graphics.cuda is not None:
        version = ".".join(map(str, graphics.cuda))
        return (
            f"{cards}: no prebuilt wheel fits driver {graphics.driver} (CUDA {version}) and this card; update NVIDIA's "
            "driver, or install the Vulkan loader (libvulkan1), or build one: laguna-tui setup gpu --source"
        )
    rocm = "ROCm 7.2 or " if graphics.of(Vendor.AMD) else ""
    return f"{cards}: install {rocm}the Vulkan loader (libvulkan1, mesa-vulkan-drivers), then run this again"


def missing_packages(build: PrebuiltBuild, host: Host) -> tuple[str, ...]:
    """Return the Python packages to download with a build's wheel; none when all its libraries are installed."""
    return () if all(_there(name, host) for name in build.libraries) else build.packages


def _there(library: str, host: Host) -> bool:
    """Return whether the loader knows a library, or it is on LD_LIBRARY_PATH or in a package the engine searches."""
    if library in host.run(("ldconfig", "-p")).text:
        return True
    folders = [folder for folder in host.environment.get("LD_LIBRARY_PATH", "").split(":") if folder]
    if host.bindings is not None:
        folders.append(f"{host.bindings.rsplit('/', 1)[0]}/nvidia/*/lib")
    return any(host.find(f"{folder}/{library}") for folder in folders)


def build_command(graphics: Graphics, host: Host) -> str:
    """Return the shell command that compiles for this machine's cards and processor only."""
    return source_command(_options(graphics), host)


def build_needs(graphics: Graphics, host: Host) -> str:
    """Return the software that this command needs."""
    tools = "a C/C++ compiler"
    if graphics.of(Vendor.NVIDIA):
        there = host.program("nvcc") is not None
        return f"{tools} and NVIDIA's CUDA toolkit ({'nvcc is installed' if there else 'nvcc is not on the PATH'})"
    if graphics.of(Vendor.AMD) and graphics.rocm is not None:
        return f"{tools} and ROCm with its development files"
    if graphics.of(Vendor.AMD, Vendor.INTEL):
        return f"{tools}, the Vulkan development files and glslc"
    return tools


def _options(graphics: Graphics) -> str:
    nvidia = graphics.of(Vendor.NVIDIA)
    if nvidia:
        kinds = sorted({card.capability for card in nvidia if card.capability is not None})
        targets = ";".join(f"{major}{minor}" for major, minor in kinds) or "native"
        return f"-DGGML_CUDA=on -DCMAKE_CUDA_ARCHITECTURES={targets}"
    if graphics.of(Vendor.AMD) and graphics.rocm is not None:
        return "-DGGML_HIP=on"
    if graphics.of(Vendor.APPLE):
        return "-DGGML_METAL=on"
    return "-DGGML_VULKAN=on" if graphics.of(Vendor.AMD, Vendor.INTEL) else "-DGGML_NATIVE=on"
