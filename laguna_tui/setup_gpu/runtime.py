"""CUDA's own libraries, which prebuilt wheels leave out: are they on this machine, and which packages hold them?"""

from laguna_tui.doctor.machine import Machine
from laguna_tui.setup_gpu.tags import Tag


def lacking(tag: Tag, machine: Machine) -> tuple[str, ...]:
    """The Python packages to fetch with a tag's wheel; none when the machine has all its libraries."""
    return () if all(_there(name, machine) for name in tag.libraries) else tag.packages


def _there(library: str, machine: Machine) -> bool:
    """Known to the loader, in a folder it is told to search, or inside a package that the engine looks into."""
    if library in machine.run(("ldconfig", "-p")).text:
        return True
    folders = [folder for folder in machine.environment.get("LD_LIBRARY_PATH", "").split(":") if folder]
    if machine.bindings is not None:
        folders.append(f"{machine.bindings.rsplit('/', 1)[0]}/nvidia/*/lib")
    return any(machine.find(f"{folder}/{library}") for folder in folders)
