"""Makes a release's installer: `install.sh`, the list of packages that it checks, and the offline bundle.

    python packaging/installer.py --dist dist [--bundle]

`dist/` holds the wheel of laguna-tui (`make release`) and in `wheels/` those of llama-cpp-python (`make wheels`). The
list has every package with the hashes of its files, so pip installs nothing else; `install.sh` has the list's hash. The
bundle is a `.tar.gz` for a machine without a network: the wheels of all packages, of this kind of machine and each
supported Python, beside `install.sh`. Laguna Nano is part of laguna-tui's own wheel.
"""

import argparse
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

TOP = Path(__file__).resolve().parents[1]
SCRIPT = TOP / "packaging/install.sh"
PROJECT, LLAMA = "laguna-tui", "llama-cpp-python"
PYTHONS = ("3.11", "3.12", "3.13")
SYSTEMS = {"manylinux": "Linux", "macosx": "Darwin"}
_WHEEL = re.compile(
    r"(?P<name>\w+)-(?P<version>[^-]+)-.*-"
    r"(?:any|(?P<system>manylinux|macosx)_(?P<major>\d+)_(?P<minor>\d+)_(?P<machine>\w+))\.whl"
)


class Wrong(Exception):
    """What is missing, as a sentence."""


def main() -> int:
    """Make the files; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--dist", type=Path, default=TOP / "dist", help="folder of the release")
    parser.add_argument("--bundle", action="store_true", help="make the offline bundle too")
    options = parser.parse_args()
    try:
        made = installer(options.dist)
        if options.bundle:
            made.append(bundle(options.dist))
        add_sums(options.dist, [*made, *sorted((options.dist / "wheels").glob("*.whl"))])
    except (Wrong, subprocess.CalledProcessError) as wrong:
        sys.stderr.write(f"installer: {wrong}\n")
        return 1
    for path in made:
        print(f"{path}: {path.stat().st_size:,} bytes")
    return 0


def installer(dist: Path) -> list[Path]:
    """Write `requirements.txt` and `install.sh` into `dist`."""
    project, llamas = _project_wheel(dist), sorted((dist / "wheels").glob("llama_cpp_python-*.whl"))
    listed, script = dist / "requirements.txt", dist / "install.sh"
    listed.write_text(package_list(_requirements(), project, llamas), encoding="utf-8")
    script.write_text(filled_script(_facts(project)["version"], listed), encoding="utf-8")
    script.chmod(0o755)
    return [listed, script]


def filled_script(version: str, listed: Path) -> str:
    """Return `install.sh` of a release, which installs the packages of this list from the release page."""
    page = _recipes().RELEASES
    # GitHub lists a release's files, with links that pip follows, on a page of its own.
    release, links = f"{page}/download/v{version}", f"{page}/expanded_assets/v{version}"
    text = SCRIPT.read_text(encoding="utf-8")
    for name, value in {"VERSION": version, "RELEASE": release, "LINKS": links, "LIST_SHA256": _sha256(listed)}.items():
        text = text.replace(f"'@{name}@'", f"'{value}'")
    return text


def add_sums(dist: Path, paths: Sequence[Path]) -> None:
    """Add the hashes of files to those of the release."""
    sums = dist / "SHA256SUMS"
    names = {str(path.relative_to(dist)): path for path in paths}
    lines = sums.read_text(encoding="utf-8").splitlines() if sums.is_file() else []
    others = [line for line in lines if line.partition("  ")[2] not in names]
    ours = [f"{_sha256(path)}  {name}" for name, path in names.items()]
    sums.write_text("\n".join([*others, *ours]) + "\n", encoding="utf-8")


def package_list(lines: str, project: Path, llamas: Sequence[Path]) -> str:
    """Return the list: the lock's `lines`, with the portable wheels' hashes beside the sdist's, and laguna-tui itself.

    Its first lines name the systems that have a portable wheel, as `install.sh` reads them.
    """
    facts = [_facts(path) for path in llamas]
    heads = "".join(f"# {LLAMA}: {SYSTEMS[each['system']]} {each['machine']} {each['least']}\n" for each in facts)
    ours = "".join(f"    --hash=sha256:{_sha256(path)} \\\n" for path in llamas)
    packages, found = re.subn(rf"^{LLAMA}==.*\n", lambda line: line[0] + ours, lines, count=1, flags=re.MULTILINE)
    if not found:
        raise Wrong(f"the lock has no {LLAMA}; run: make lock")
    return f"{heads}{packages}{PROJECT}=={_facts(project)['version']} \\\n    --hash=sha256:{_sha256(project)}\n"


def bundle(dist: Path) -> Path:
    """Pack the offline bundle for this kind of machine."""
    with tempfile.TemporaryDirectory(prefix="laguna-bundle") as work:
        version = _facts(_project_wheel(dist))["version"]
        folder = Path(work, f"{PROJECT}-{version}-offline")
        wheels = folder / "wheels"
        wheels.mkdir(parents=True)
        for path in (_project_wheel(dist), *(dist / "wheels").glob("llama_cpp_python-*.whl")):
            shutil.copy(path, wheels)
        for python in PYTHONS:
            _download(dist, wheels, python)
        for name in ("requirements.txt", "install.sh"):
            shutil.copy(dist / name, folder)
        out = dist / f"{folder.name}-{platform.system().lower()}-{platform.machine()}.tar.gz"
        with tarfile.open(out, "w:gz") as archive:
            archive.add(folder, folder.name)
    return out


def _download(dist: Path, wheels: Path, python: str) -> None:
    """Return the wheels of the listed packages for a Python: without a network, nothing can be built."""
    options = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--python-version", python]
    systems = [word for each in _platforms() for word in ("--platform", each)]
    listed = wheels.parent / f"for-{python}.txt"
    listed.write_text(needed((dist / "requirements.txt").read_text(encoding="utf-8"), python), encoding="utf-8")
    subprocess.run(
        [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", *options, *systems,
         "--find-links", str(wheels), "--dest", str(wheels), "-r", str(listed)],
        env=dict(os.environ), check=True,
    )  # fmt: skip
    listed.unlink()


def needed(packages: str, python: str) -> str:
    """Return the listed packages that this system needs with a Python, without conditions.

    pip's own `--python-version` chooses wheels by it, but decides on conditions by the Python that it runs in.
    """
    from packaging.requirements import Requirement

    environment, kept = {"python_version": python, "python_full_version": f"{python}.0"}, []
    for package in re.split(r"^(?=\w)", packages, flags=re.MULTILINE)[1:]:
        first, _, hashes = package.partition(" \\\n")
        wanted = Requirement(first)
        if wanted.marker is None or wanted.marker.evaluate(environment):
            kept.append(f"{wanted.name}{wanted.specifier} \\\n{hashes}")
    return "".join(kept)


def _platforms() -> list[str]:
    """Return the platform tags that run here, as pip names them."""
    from packaging.tags import platform_tags

    return [tag for tag in platform_tags() if not tag.startswith("linux_")]


def _recipes() -> ModuleType:
    sys.path.insert(0, str(TOP / "packaging"))
    import lock_recipes

    return lock_recipes


def _requirements() -> str:
    recipes = _recipes()
    listed: str = recipes.requirements(recipes.read_lock())
    return listed


def _project_wheel(dist: Path) -> Path:
    found = sorted(dist.glob("laguna_tui-*.whl"))
    if len(found) != 1:
        raise Wrong(f"{dist} has {len(found)} wheels of {PROJECT} instead of one; run: make release")
    return found[0]


def _facts(wheel: Path) -> dict[str, str]:
    """Return name, version, system, machine and least version of the system (glibc on Linux) from a wheel's name."""
    match = _WHEEL.fullmatch(wheel.name)
    if match is None:
        raise Wrong(f"{wheel.name} is not a wheel for a supported system")
    facts = {key: value or "" for key, value in match.groupdict().items()}
    return {**facts, "least": f"{facts['major']}.{facts['minor']}"}


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
