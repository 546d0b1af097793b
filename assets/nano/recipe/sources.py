"""The training corpus: permissively licensed Python, downloaded from PyPI by name and checked against `sources.json`.

    python sources.py WORK [--only NAME ...] [--wheels FOLDER] [--manifest]

Deals in wheels, their licences and their unpacked trees; knows nothing of tokens or models. A wheel whose own
metadata does not name an accepted licence is refused. Six whole packages are held out: nothing of them is trained on.
"""

from __future__ import annotations

import argparse
import email
import hashlib
import json
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import TypedDict

HERE = Path(__file__).parent
MANIFEST = HERE / "sources.json"

TRAINED = (
    "aiohttp alembic anyio attrs babel black boltons cattrs celery click dask fastapi flask fsspec httpcore isort "
    "itsdangerous jedi jinja2 joblib jsonschema kombu loguru mako markdown mistune more-itertools networkx packaging "
    "parso pluggy pygments pytest requests rich scrapy sqlalchemy starlette textual toolz tornado traitlets typer "
    "urllib3 werkzeug"
).split()
HELD_OUT = "arrow httpx marshmallow prompt-toolkit structlog tomlkit".split()
STANDARD_LIBRARY = "stdlib"

ACCEPTED = re.compile(r"\b(MIT|BSD|Apache|PSF|Python Software Foundation)\b", re.IGNORECASE)
REFUSED = re.compile(r"GPL|MPL|Mozilla|proprietary", re.IGNORECASE)
LICENCE_TEXT_LIMIT = 120  # a longer License field is a whole licence text, not a name


class Source(TypedDict):
    """One downloaded wheel: what it is, what it allows, and the hash that pins it."""

    name: str
    version: str
    licence: str
    file: str
    sha256: str
    held_out: bool


def licence_of(wheel: Path) -> tuple[str, str]:
    """Version and licence named by a wheel's METADATA. Raises SystemExit if the licence is not an accepted one."""
    with zipfile.ZipFile(wheel) as archive:
        entry = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(entry))
    classifiers = [c.split("::")[-1].strip() for c in metadata.get_all("Classifier", []) if c.startswith("License")]
    field = metadata.get("License", "")
    named = [
        metadata.get("License-Expression", ""),
        *classifiers,
        field if len(field) < LICENCE_TEXT_LIMIT else "",
    ]
    licence = " / ".join(dict.fromkeys(part for part in named if part))
    if not ACCEPTED.search(licence) or REFUSED.search(licence):
        raise SystemExit(f"{wheel.name}: licence {licence!r} is not accepted; remove it from TRAINED or HELD_OUT")
    return metadata["Version"], licence


def describe(wheel: Path, name: str) -> Source:
    """The manifest entry of one wheel."""
    version, licence = licence_of(wheel)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return Source(
        name=name, version=version, licence=licence, file=wheel.name, sha256=digest, held_out=name in HELD_OUT
    )


def download(requirement: str, folder: Path) -> Path:
    """Fetch one wheel without its dependencies; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    options = ["-q", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "-d", str(folder)]
    subprocess.run([sys.executable, "-P", "-m", "pip", "download", *options, requirement], check=True)
    project = re.sub(r"[-_.]+", "_", requirement.split("==")[0]).lower()
    return max(
        (w for w in folder.glob("*.whl") if w.name.lower().startswith(project + "-")),
        key=lambda w: w.stat().st_mtime,
    )


def wheel_of(name: str, pinned: Source | None, folder: Path) -> Path:
    """The wheel of a package: the pinned one, from the folder if it is there, or the newest."""
    if pinned is None:
        return download(name, folder)
    wheel = folder / pinned["file"]
    if not wheel.exists():
        wheel = download(f"{name}=={pinned['version']}", folder)
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != pinned["sha256"]:
        raise SystemExit(f"{wheel.name}: sha256 differs from sources.json; use the platform it was made on")
    return wheel


def unpack(wheel: Path, target: Path) -> None:
    """Unpack the Python files of a wheel: the tree a question is asked about."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(".py") and ".dist-info/" not in name:
                archive.extract(name, target)


def copy_standard_library(target: Path) -> None:
    """The running interpreter's standard library (PSF licence), without its tests and site-packages."""
    ignore = shutil.ignore_patterns(
        "test",
        "tests",
        "idle_test",
        "site-packages",
        "dist-packages",
        "__pycache__",
        "*.so",
        "*.pyc",
        "*.txt",
    )
    shutil.copytree(sysconfig.get_paths()["stdlib"], target, ignore=ignore, dirs_exist_ok=True)


def manifest() -> dict[str, Source]:
    """The pinned packages by name; none before the first manifest."""
    return (
        {source["name"]: source for source in json.loads(MANIFEST.read_text())["packages"]} if MANIFEST.exists() else {}
    )


def unpacked(work: Path, *, held_out: bool) -> list[str]:
    """The packages, trained on or held out, that are in the working folder; without the standard library."""
    return [
        name for name, one in manifest().items() if one["held_out"] == held_out and (work / "repos" / name).is_dir()
    ]


def trained(work: Path) -> set[str]:
    """Everything in the working folder that is trained on."""
    library = {STANDARD_LIBRARY} if (work / "repos" / STANDARD_LIBRARY).is_dir() else set()
    return {*unpacked(work, held_out=False), *library}


def fetch(work: Path, names: list[str], wheels: Path, pinned: dict[str, Source]) -> list[Source]:
    """Download, check and unpack packages under `work/repos`; the standard library is copied."""
    sources = []
    for name in names:
        if name == STANDARD_LIBRARY:
            copy_standard_library(work / "repos" / name)
            continue
        wheel = wheel_of(name, pinned.get(name), wheels)
        unpack(wheel, work / "repos" / name)
        sources.append(describe(wheel, name))
    return sources


def main() -> None:
    """Fetch into the folder given on the command line; `--manifest` pins what was fetched."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--only", nargs="+", default=[*TRAINED, *HELD_OUT, STANDARD_LIBRARY], help="these packages")
    parser.add_argument("--wheels", type=Path, help="where wheels are, or are put; WORK/wheels without it")
    parser.add_argument("--manifest", action="store_true", help="take the newest versions and write sources.json anew")
    options = parser.parse_args()
    pinned = {} if options.manifest else manifest()
    sources = fetch(options.work, options.only, options.wheels or options.work / "wheels", pinned)
    if options.manifest:
        library = {"name": STANDARD_LIBRARY, "version": sys.version.split()[0], "licence": "PSF-2.0"}
        MANIFEST.write_text(json.dumps({"standard_library": library, "packages": sources}, indent=1) + "\n")


if __name__ == "__main__":
    main()
