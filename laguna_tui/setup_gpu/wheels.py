"""Wheels as files: what is installed made into one again, and the hash of one."""

import base64
import csv
import hashlib
import io
import os
import zipfile
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path, PurePosixPath

from laguna_tui.setup_gpu.setup_errors import SetupFailed

PACKAGE = "llama-cpp-python"

_INSTALLERS_OWN = {"INSTALLER", "REQUESTED", "direct_url.json", "RECORD"}
"""Files in `.dist-info` that whoever installs writes."""

_LEVEL = 1
"""Of compression: libraries shrink to half already with the fastest."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel's file and its sha256, in hexadecimal."""

    path: Path
    sha256: str

    @classmethod
    def of(cls, path: Path) -> "Wheel":
        """Read the file once."""
        with path.open("rb") as file:
            return cls(path, hashlib.file_digest(file, "sha256").hexdigest())


def installed(site: Path, name: str = PACKAGE) -> Distribution | None:
    """The distribution of this name in the folder `site`, and in no other."""
    found = (one for one in distributions(path=[str(site)]) if _plain(one.metadata["Name"] or "") == _plain(name))
    return next(found, None)


def pack(distribution: Distribution, site: Path, folder: Path) -> Path:
    """Make a wheel of what is installed, in `folder`; pip can install it again. It has its name only once it is whole.

    Raises:
        SetupFailed: a file is gone, or pip did not install it.
        OSError: the disk is full, say.
    """
    target = folder / f"{_plain(distribution.metadata['Name'])}-{distribution.version}-{_tags(distribution)}.whl"
    part = target.with_suffix(".part")
    rows: list[tuple[str, str, str]] = []
    record = ""
    with part.open("wb") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
            for name in _recorded(distribution):
                in_info = name.parts[0].endswith(".dist-info")
                record = f"{name.parts[0]}/RECORD" if in_info else record
                # Scripts lie outside and are made anew; so is compiled code.
                passed = ".." in name.parts or name.suffix == ".pyc" or (in_info and name.name in _INSTALLERS_OWN)
                if not passed:
                    rows.append(_add(archive, site / name, str(name)))
            archive.writestr(record, _lines([*rows, (record, "", "")]))
        # The note that says that it is kept is on the disk right after it.
        file.flush()
        os.fsync(file.fileno())
    part.replace(target)
    return target


def _recorded(distribution: Distribution) -> list[PurePosixPath]:
    """The files that pip noted, whether they are there or not: from Python 3.12 on `files` leaves out missing ones."""
    rows = [row for row in csv.reader((distribution.read_text("RECORD") or "").splitlines()) if row and row[0]]
    if not rows:
        raise SetupFailed("pip did not install what is there, so it cannot be kept; install laguna-tui with pipx first")
    return [PurePosixPath(row[0]) for row in rows]


def _add(archive: zipfile.ZipFile, path: Path, name: str) -> tuple[str, str, str]:
    if not path.is_file():
        raise SetupFailed(f"{path} is missing, so what is installed cannot be kept; install laguna-tui again first")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
    archive.write(path, name)
    mark = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    return name, f"sha256={mark}", str(path.stat().st_size)


def _lines(rows: list[tuple[str, str, str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _tags(distribution: Distribution) -> str:
    """`py3-none-linux_x86_64`, or the same with dots where a wheel fits several."""
    text = distribution.read_text("WHEEL") or ""
    tags = [line.partition(":")[2].strip().split("-") for line in text.splitlines() if line.startswith("Tag:")]
    if not tags:
        raise SetupFailed("what is installed has no wheel's tags, so it cannot be kept; install laguna-tui again first")
    return "-".join(".".join(dict.fromkeys(parts)) for parts in zip(*tags, strict=True))


def _plain(name: str) -> str:
    return name.replace("-", "_").replace(".", "_").lower()
