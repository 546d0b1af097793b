"""What retrieval is measured on: packages whose sources pip downloads into a cache folder, and this repository itself.

Nothing of a package is run here (pip itself runs the build backend when it asks a source archive for its name).
"""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

CACHE = Path(os.environ.get("LAGUNA_TUI_EVALS", Path.home() / ".cache/laguna-tui/evals"))
HERE = Path(__file__).parent.parent.parent


def package(name: str, version: str) -> Path | None:
    """The unpacked source archive of a release; None when it cannot be had."""
    folder = CACHE / f"{name}-{version}"
    if not folder.is_dir():
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", name, "-d", str(CACHE)]
        if subprocess.run([*command, f"{name}=={version}"], capture_output=True, check=False).returncode:
            return None
        archive = next(iter(CACHE.glob(f"{name}-{version}.tar.gz")), None)
        if archive is None:
            return None
        with tarfile.open(archive) as packed:
            packed.extractall(CACHE, filter="data")
    return folder


def python_files(root: Path) -> dict[str, str]:
    """Text of each Python file by its path below the folder."""
    files = {}
    for path in sorted(root.rglob("*.py")):
        inside = path.relative_to(root).as_posix()
        if not any(part.startswith(".") for part in inside.split("/")):
            files[inside] = path.read_text(encoding="utf-8", errors="replace")
    return files
