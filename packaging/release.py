"""Builds a release into `dist/`: sdist and wheel, checked and reproducible; SBOM, notes, hashes, recipes.

    python packaging/release.py [--out DIR] [--all-linters]

The recipes are for Homebrew, the AUR, Nix, container engines and the registry of the Agent Client Protocol. They are
linted with what is installed.

Built twice from what is committed, in folders of different names; both must be the same bytes.
"""

import argparse
import gzip
import hashlib
import importlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType

TOP = Path(__file__).resolve().parents[1]
NOT_SHIPPED = ("assets/nano/recipe/", "assets/screenshots/")
NOT_IN_SDIST = (".ci/",)
AUR = "aur/"
LARGEST = 60 << 20
"""Bytes of a file; the index takes 100 MB."""


class Wrong(Exception):
    """What keeps this from being released, as a sentence."""


def main() -> int:
    """Build and check; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, default=TOP / "dist", help="folder to write to (default: dist)")
    parser.add_argument("--all-linters", action="store_true", help="fail if a linter of the recipes is not installed")
    options = parser.parse_args()
    try:
        release(options.out, all_linters=options.all_linters)
    except Wrong as wrong:
        sys.stderr.write(f"release: {wrong}\n")
        return 1
    return 0


def release(out: Path, *, all_linters: bool = False) -> None:
    """Build everything into `out`; Wrong if something may not be released.

    all_linters: a linter that is not installed is an error too.
    """
    changed = _git("status", "--porcelain").strip()
    if changed:
        raise Wrong(f"not everything is committed:\n{changed}\ncommit it, or stash it")
    version = check_version(TOP)
    out.mkdir(parents=True, exist_ok=True)
    built = _built_twice(out)
    tracked = _git("ls-files").splitlines()
    for path in built:
        problems = list(wheel_problems(path, tracked) if path.suffix == ".whl" else sdist_problems(path, tracked))
        if problems:
            raise Wrong(f"{path.name}: " + "\n  ".join(problems))
        print(f"{path.name}: {path.stat().st_size:,} bytes, identical in two builds")
    (out / "NOTES.md").write_text(notes(TOP / "CHANGELOG.md", version), encoding="utf-8")
    texts = recipe_files(version, *(_one(built, suffix) for suffix in (".gz", ".whl")))
    check_recipes(texts, all_linters=all_linters)
    made = [*built, *_write_recipes(out, texts)]
    sums = "".join(f"{_sha256(path)}  {path.relative_to(out)}\n" for path in sorted(made))
    (out / "SHA256SUMS").write_text(sums, encoding="utf-8")
    print(f"{len(made)} files in {out}")


def check_version(top: Path) -> str:
    """Return the version; Wrong if its places do not agree."""
    version = str(tomllib.loads((top / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])
    source = (top / "laguna_tui/__init__.py").read_text(encoding="utf-8")
    if f'__version__ = "{version}"' not in source:
        raise Wrong(f"pyproject.toml has version {version}, laguna_tui/__init__.py another one; make them equal")
    notes(top / "CHANGELOG.md", version)
    return version


def notes(changelog: Path, version: str) -> str:
    """Return a version's section of the changelog; Wrong if there is none."""
    text = changelog.read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(version)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None or not found[1].strip():
        raise Wrong(f"{changelog.name} has no section about {version}; write what a user notices under '## {version}'")
    return found[1].strip() + "\n"


def wheel_problems(wheel: Path, tracked: Iterable[str]) -> Iterable[str]:
    """Return the defects of a wheel: files too many or too few, paths of this machine, its size."""
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if not name.endswith("/")}
        yield from _local_paths({name: archive.read(name) for name in inside})
    shared = {name for name in inside if ".data/data/share/" in name}
    expected = set(filter(None, map(wheel_name, tracked)))
    metadata = {name for name in inside if ".dist-info/" in name}
    yield from _differences(inside - metadata - shared, expected)
    if not any(name.endswith("share/man/man1/laguna-tui.1") for name in shared):
        yield "the man page is missing"
    if wheel.stat().st_size > LARGEST:
        yield f"{wheel.stat().st_size:,} bytes are more than {LARGEST:,}"


def wheel_name(tracked: str) -> str | None:
    """Return a tracked file's name in the wheel; None if it is not shipped."""
    if tracked.startswith(NOT_SHIPPED):
        return None
    if tracked.startswith("assets/") or tracked == "models.toml":
        return f"laguna_tui/data/{tracked}"
    if tracked.startswith("engine/laguna_engine/"):
        return tracked.removeprefix("engine/")
    return tracked if tracked.startswith("laguna_tui/") else None


def sdist_problems(sdist: Path, tracked: Iterable[str]) -> Iterable[str]:
    """Return the defects of an sdist."""
    with tarfile.open(sdist) as archive:
        members = {each.name.partition("/")[2]: each for each in archive.getmembers() if each.isfile()}
        yield from _local_paths({name: _content(archive, each) for name, each in members.items()})
    expected = {name for name in tracked if not name.startswith(NOT_IN_SDIST)}
    yield from _differences(members.keys() - {"PKG-INFO"}, expected)


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    assert file is not None, "it is a file"
    return file.read()


def _differences(inside: set[str], expected: set[str]) -> Iterable[str]:
    yield from (f"{name} is missing" for name in sorted(expected - inside))
    yield from (f"{name} does not belong in it" for name in sorted(inside - expected))


def _local_paths(files: dict[str, bytes]) -> Iterable[str]:
    """Return the files that contain the folder they were built in, or this user's home."""
    local = {str(TOP), str(Path.home()), tempfile.gettempdir() + "/laguna-release"} - {"/", "/root"}
    for name, content in sorted(files.items()):
        yield from (f"{name} names {path}" for path in sorted(local) if path.encode() in content)


def _built_twice(out: Path) -> list[Path]:
    """Return the sdist and the wheel, built in two folders; Wrong if they differ."""
    epoch = _git("log", "-1", "--format=%ct").strip()
    with tempfile.TemporaryDirectory(prefix="laguna-release") as work:
        folders = [_build(Path(work, name), epoch) for name in ("one", "another-name")]
        one, other = ({path.name: path for path in folder.iterdir()} for folder in folders)
        differ = [name for name in one if name not in other or _sha256(one[name]) != _sha256(other[name])]
        if differ or len(one) != 2:
            raise Wrong(f"{', '.join(differ) or list(one)}: two builds differ")
        return [Path(shutil.copy2(path, out)) for path in one.values()]


def _build(folder: Path, epoch: str) -> Path:
    """Return a folder with the sdist of what is committed, and the wheel made from the sdist."""
    source, built = folder / "source", folder / "built"
    source.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=TOP, capture_output=True, check=True).stdout
    subprocess.run(["tar", "x"], cwd=source, input=archive, check=True)
    command = [sys.executable, "-P", "-m", "build", "--no-isolation", "--outdir", str(built), str(source)]
    run = subprocess.run(
        command, env={**os.environ, "SOURCE_DATE_EPOCH": epoch}, capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise Wrong(f"building failed:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    return built


def _one(built: Iterable[Path], suffix: str) -> Path:
    return next(path for path in built if path.suffix == suffix)


def recipe_files(version: str, sdist: Path, wheel: Path) -> dict[str, str]:
    """Return the texts of the recipes by their paths."""
    recipes = _beside("lock_recipes")
    locked, digest = recipes.read_lock(), _sha256(sdist)
    models = {path.name: path for path in (TOP / "assets/nano").glob("*.gguf")}
    lines = recipes.requirements(locked)
    values = {"VERSION": version, "SUMMARY": recipes.SUMMARY, "HOMEPAGE": recipes.HOMEPAGE,
              "LLAMA": next(each.version for each in locked if each.name == "llama-cpp-python")}  # fmt: skip
    return {
        "sbom.cdx.json": recipes.sbom(version, locked, models),
        "homebrew/laguna-tui.rb": recipes.homebrew(version, digest, locked),
        f"{AUR}PKGBUILD": recipes.pkgbuild(version, digest, lines),
        f"{AUR}.SRCINFO": recipes.srcinfo(version, digest, lines),
        f"{AUR}requirements.txt": lines,
        "nix/flake.nix": _filled("flake.nix", values),
        "nix/sources.json": recipes.nix_sources(version, wheel.name, _sha256(wheel), locked),
        "containers/Containerfile": _filled("Containerfile", values),
        "containers/Containerfile.cuda": _filled("Containerfile.cuda", values),
        "acp/laguna-tui/agent.json": recipes.acp_agent(version),
        "acp/laguna-tui/icon.svg": _filled("acp_icon.svg", values),
    }


def _beside(name: str) -> ModuleType:
    """Import a script of this folder, which is no package."""
    sys.path.insert(0, str(TOP / "packaging"))
    return importlib.import_module(name)


def _filled(name: str, values: Mapping[str, str]) -> str:
    text = (TOP / "packaging" / name).read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text


def check_recipes(texts: Mapping[str, str], *, all_linters: bool) -> None:
    """Lint the recipes and print what ran; Wrong if a linter complains."""
    linters = _beside("lint_recipes")
    with tempfile.TemporaryDirectory() as work:
        for name, text in texts.items():
            path = Path(work, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        for check, complaint in linters.lint(Path(work), texts):
            if complaint or (complaint is None and all_linters):
                raise Wrong(f"{check}: {complaint or 'this linter is not installed'}")
            print(f"{check}: {'skipped, it is not installed' if complaint is None else 'no complaint'}")


def _write_recipes(out: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write the recipes; those of the AUR and of Nix, which belong together, as an archive each."""
    contents = {f"laguna-tui-{folder.rstrip('/')}.tar.gz": tarball({
        f"laguna-tui/{name.removeprefix(folder)}": text for name, text in texts.items() if name.startswith(folder)
    }) for folder in (AUR, "nix/")}  # fmt: skip
    contents |= {name: text.encode() for name, text in texts.items() if not name.startswith((AUR, "nix/"))}
    for name, content in contents.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(content)
    return [out / name for name in contents]


def tarball(texts: Mapping[str, str]) -> bytes:
    """Return a .tar.gz of these files; the same texts give the same bytes."""
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as archive,
    ):
        for name, text in texts.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return buffer.getvalue()


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=TOP, capture_output=True, text=True, check=True).stdout


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
