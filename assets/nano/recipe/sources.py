"""The training corpus: permissively licensed Python, downloaded from PyPI by name and checked against `sources.json`.

Deals in wheels, their licences and their unpacked trees; knows nothing of tokens or models. A wheel whose own
metadata does not name an accepted licence is refused. Six whole packages are held out: nothing of them is trained on.
"""

from __future__ import annotations

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
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--only-binary=:all:",
        "-d",
        str(folder),
    ]
    subprocess.run([*command, requirement], check=True)
    project = re.sub(r"[-_.]+", "_", requirement.split("==")[0]).lower()
    return max(
        (w for w in folder.glob("*.whl") if w.name.lower().startswith(project + "-")),
        key=lambda w: w.stat().st_mtime,
    )


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


def fetch(work: Path) -> list[Source]:
    """Download, check and unpack everything under `work/repos`; pinned by the manifest where there is one."""
    pinned: dict[str, Source] = {}
    if MANIFEST.exists():
        pinned = {source["name"]: source for source in json.loads(MANIFEST.read_text())["packages"]}
    sources = []
    for name in TRAINED + HELD_OUT:
        requirement = f"{name}=={pinned[name]['version']}" if name in pinned else name
        wheel = download(requirement, work / "wheels")
        source = describe(wheel, name)
        if name in pinned and source["sha256"] != pinned[name]["sha256"]:
            raise SystemExit(f"{wheel.name}: sha256 differs from sources.json; use the platform it was made on")
        unpack(wheel, work / "repos" / name)
        sources.append(source)
    copy_standard_library(work / "repos" / STANDARD_LIBRARY)
    return sources


def main() -> None:
    """Fetch into the folder given on the command line and write the manifest."""
    sources = fetch(Path(sys.argv[1]))
    stdlib = {"name": STANDARD_LIBRARY, "version": sys.version.split()[0], "licence": "PSF-2.0"}
    MANIFEST.write_text(json.dumps({"standard_library": stdlib, "packages": sources}, indent=1) + "\n")


if __name__ == "__main__":
    main()
