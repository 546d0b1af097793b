"""Finds programs that a command must be able to read in folders that the sandbox replaces as a whole.

The app's own Python, an environment or a toolchain may be installed below /tmp or /run, and the user's MCP servers too.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from laguna_engine.native.child import find_program
from laguna_tui.sandbox.sandbox_policy import SandboxPolicy, hidden_paths

TEMPORARY = ("/tmp", "/var/tmp")
EMPTY = ("/run",)
REPLACED = (*TEMPORARY, *EMPTY, "/dev")
"""Folders that are hidden from commands, because everybody shares them."""

_TOOLCHAINS = (
    *("VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "CARGO_HOME", "RUSTUP_HOME", "GOPATH", "GOROOT", "JAVA_HOME"),
    *("NVM_DIR", "DOTNET_ROOT"),
)
_BESIDE = ("lib", "lib64", "libexec", "share", "include", "pyvenv.cfg")
"""What the programs in a folder `bin` read beside it; the whole parent may be a home folder."""
_HIDDEN = "commands cannot read {word}, because {folder} is hidden from them; move it to another folder"


@dataclass(frozen=True, slots=True)
class Program:
    """A file or folder to be shown.

    Attributes:
        place: Its path. No links in it lead out of the folder of `REPLACED` that it is in.
        source: Its path without links.
    """

    place: Path
    source: Path


def readable_programs(
    policy: SandboxPolicy, environment: Mapping[str, str], hidden: Sequence[Path]
) -> tuple[Program, ...]:
    """Return what a command has to read in the folders of `REPLACED`, as far as its workspace does not contain it.

    Args:
        hidden: What it cannot read, without links.
    """
    found = dict[Path, Program]()
    for path in _paths(policy, environment):
        real = Path(os.path.realpath(path))
        for name in dict.fromkeys((path, real)):
            if (top := next((each for each in REPLACED if Path(each) in name.parents), None)) is None:
                continue
            for each in (name, *_libraries(name, top)):
                if os.access(each, os.R_OK):
                    place = Path(os.path.realpath(top)) / each.relative_to(top)
                    found[place] = Program(place, Path(os.path.realpath(each)))
    shown = {place: each for place, each in found.items() if _may_be_shown(each, policy.root, hidden)}
    seen = {*shown, policy.root}
    return tuple(each for place, each in sorted(shown.items()) if seen.isdisjoint(place.parents))


def why_unreadable(policy: SandboxPolicy, words: Iterable[str]) -> str:
    """Return a clause about the first path in a command line that is hidden from commands; empty for none."""
    hidden = hidden_paths(policy)
    for word in words:
        if Path(word).is_absolute():
            real = Path(os.path.realpath(word))
            for folder in hidden:
                if real.is_relative_to(folder):
                    return _HIDDEN.format(word=word, folder=folder)
    return ""


def _paths(policy: SandboxPolicy, environment: Mapping[str, str]) -> Iterator[Path]:
    folders = [sys.prefix, sys.base_prefix]
    for variable in (*_TOOLCHAINS, "PATH"):
        folders += environment.get(variable, "").split(os.pathsep)
    yield from (Path(os.path.normpath(folder)) for folder in folders if Path(folder).is_absolute())
    for word in policy.programs:
        path = Path(os.path.normpath(find_program(word, path=environment.get("PATH", "")) or word))
        # What a program is linked to may be an environment of its own, as pipx makes them.
        for name in (path, Path(os.path.realpath(path))) if path.is_absolute() else ():
            # Unlike Path.is_dir, this raises nothing where the folder around cannot be entered.
            is_alone = os.path.isdir(name) or str(name.parent) in REPLACED  # noqa: PTH112
            yield name if is_alone else name.parent


def _libraries(folder: Path, top: str) -> Iterator[Path]:
    if folder.name == "bin" and folder.parent != Path(top):
        yield from (folder.parent / name for name in _BESIDE)


def _may_be_shown(program: Program, root: Path, hidden: Sequence[Path]) -> bool:
    """Return whether showing a program shows nothing of the workspace, and nothing hidden, at another place."""
    if program.place.is_relative_to(root) or any(program.source.is_relative_to(path) for path in hidden):
        return False
    kept = (root, *hidden)
    return program.place == program.source or not any(
        path.is_relative_to(program.source) or program.source.is_relative_to(path) for path in kept
    )
