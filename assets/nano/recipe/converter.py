"""llama.cpp's own converter and templates, at the version that the app runs: from the sources of llama-cpp-python.

    python converter.py WORK

Unpacks `vendor/llama.cpp` of the source archive as `WORK/llama.cpp`; nothing is compiled.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

VERSION = "0.3.36"
INSIDE = f"llama_cpp_python-{VERSION}/vendor/"


def download(folder: Path) -> Path:
    """The source archive, from the folder if it is there."""
    archive = folder / f"llama_cpp_python-{VERSION}.tar.gz"
    if not archive.exists():
        options = ["-q", "--disable-pip-version-check", "--no-deps", "--no-binary", "llama-cpp-python", "-d", folder]
        subprocess.run(
            [sys.executable, "-P", "-m", "pip", "download", *options, f"llama-cpp-python=={VERSION}"], check=True
        )
    return archive


def wanted(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """The members of llama.cpp, under their own names."""
    for member in archive:
        if member.name.startswith(INSIDE + "llama.cpp/"):
            member.name = member.name.removeprefix(INSIDE)
            yield member


def main() -> None:
    """Fetch into the folder given on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    work = parser.parse_args().work
    with tarfile.open(download(work)) as archive:
        # Python before 3.11.4 has no filters.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(work, members=wanted(archive))


if __name__ == "__main__":
    main()
