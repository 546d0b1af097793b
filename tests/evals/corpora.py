"""What is asked about: packages whose sources pip, npm and apt download into a cache folder, and this repository.

Nothing of a package is run here (pip itself runs the build backend when it asks a source archive for its name).
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

CACHE = Path(os.environ.get("LAGUNA_TUI_EVALS", Path.home() / ".cache/laguna-tui/evals"))
HERE = Path(__file__).parent.parent.parent


def package(name: str, version: str, sha256: str = "") -> Path | None:
    """Return the unpacked source archive of a release; None if it cannot be downloaded. sha256: empty for any."""
    folder = CACHE / f"{name}-{version}"
    if folder.is_dir():
        return folder
    CACHE.mkdir(parents=True, exist_ok=True)
    archive = _archive(name, version) or _downloaded(name, version)
    if archive is None:
        return None
    return _unpacked(archive, folder, sha256)


def npm_package(name: str, version: str, sha256: str = "") -> Path | None:
    """Return the unpacked archive of a release on npm; None if it cannot be downloaded. sha256: empty for any."""
    flat = name.removeprefix("@").replace("/", "-")
    folder, archive = CACHE / f"{flat}-{version}-npm", CACHE / f"{flat}-{version}.tgz"
    if folder.is_dir():
        return folder
    CACHE.mkdir(parents=True, exist_ok=True)
    if not archive.is_file() and shutil.which("npm"):
        command = ["npm", "pack", "--silent", f"{name}@{version}", "--pack-destination", str(CACHE)]
        subprocess.run(command, capture_output=True, check=False)
    return _unpacked(archive, folder, sha256) if archive.is_file() else None


def debian_package(name: str, version: str, sha256: str) -> Path | None:
    """Return the unpacked package of a release of Debian; None if it cannot be downloaded, as on other systems."""
    folder, archive = CACHE / f"{name}-{version}-debian", CACHE / f"{name}_{version}_all.deb"
    if folder.is_dir():
        return folder
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        return None
    CACHE.mkdir(parents=True, exist_ok=True)
    if not archive.is_file():
        command = ["apt-get", "download", "-qq", f"{name}={version}"]
        subprocess.run(command, cwd=CACHE, capture_output=True, check=False)
    if not archive.is_file():
        return None
    _check(archive, sha256)
    with tempfile.TemporaryDirectory(dir=CACHE) as aside:
        subprocess.run(["dpkg-deb", "--extract", str(archive), f"{aside}/files"], check=True)
        (Path(aside) / "files").rename(folder)
    return folder


def history(target: Path) -> Path | None:
    """Return a clone of this repository with its history; None when there is none, as in an unpacked release."""
    command = ["git", "clone", "-q", "--shared", "--no-checkout", str(HERE), str(target)]
    return target if subprocess.run(command, capture_output=True, check=False).returncode == 0 else None


def _check(archive: Path, sha256: str) -> None:
    if sha256 and hashlib.sha256(archive.read_bytes()).hexdigest() != sha256:
        sys.exit(f"{archive} is not the release that the questions were written for: its sha256 differs")


def _unpacked(archive: Path, folder: Path, sha256: str = "") -> Path:
    _check(archive, sha256)
    # Unpacked aside, so that a folder that is there is whole. Its name may have capitals ("Flask-2.3.0").
    with tempfile.TemporaryDirectory(dir=CACHE) as aside, tarfile.open(archive) as packed:
        packed.extractall(aside, filter="data")
        next(Path(aside).iterdir()).rename(folder)
    return folder


def _archive(name: str, version: str) -> Path | None:
    # Archives write a name their own way: "Flask", "prompt_toolkit".
    wanted = f"{name}-{version}.tar.gz"
    return next((path for path in CACHE.glob("*.tar.gz") if path.name.lower().replace("_", "-") == wanted), None)


def _downloaded(name: str, version: str) -> Path | None:
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", name, "-d", str(CACHE)]
    subprocess.run([*command, f"{name}=={version}"], capture_output=True, check=False)
    return _archive(name, version)


def python_files(root: Path) -> dict[str, str]:
    """Return text of each Python file by its path below the folder."""
    files = {}
    for path in sorted(root.rglob("*.py")):
        inside = path.relative_to(root).as_posix()
        if not any(part.startswith(".") for part in inside.split("/")):
            files[inside] = path.read_text(encoding="utf-8", errors="replace")
    return files
