"""Lints a release's recipes for package managers, editors and containers with the linters that are installed."""

import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

SCHEMA = Path(__file__).resolve().with_name("acp_agent.schema.json")
# makepkg sets and reads the variables of a PKGBUILD.
_SHELLCHECK = ("shellcheck", "--shell", "bash", "--exclude", "SC2034,SC2154,SC2164")
LINTERS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "PKGBUILD": (("bash", "-n"), _SHELLCHECK),
    "laguna-tui.rb": (("ruby", "-c"),),
    "flake.nix": (("nix-instantiate", "--parse"),),
    "Containerfile": (("hadolint",),),
    "Containerfile.cuda": (("hadolint",),),
    "agent.json": (("check-jsonschema", "--schemafile", str(SCHEMA)),),
}
"""Commands by the name of the file that they check."""


def lint(folder: Path, names: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """Yield each check of the files with its complaint: empty if there is none, None if its linter is not installed.

    Args:
        folder: where the files are.
        names: their paths in it.
    """
    for name in names:
        for program, *options in LINTERS.get(PurePosixPath(name).name, ()):
            found = _program(program)
            run = found and subprocess.run(
                [found, *options, folder / name], capture_output=True, text=True, check=False
            )
            complaint = run and ((run.stdout + run.stderr).strip() or "it failed" if run.returncode else "")
            yield f"{program} {name}", complaint


def _program(name: str) -> str | None:
    """Return a linter that was installed with the development packages, or with the system."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.is_file() else shutil.which(name)
