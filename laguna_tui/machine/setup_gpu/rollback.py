"""Sets the previous build aside in the folder of the installed packages, for a rollback or after an interruption.

A rename needs neither room on the disk nor time, and brings back exactly what was installed.
"""

import hashlib
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

import msgspec

from laguna_engine.files import read_small_file, write_atomically
from laguna_tui.base.errors import UserError
from laguna_tui.machine.setup_gpu.builds import PACKAGE
from laguna_tui.machine.setup_gpu.pip import SetupFailed

_MARK_LETTERS = 16
# A record takes a few kilobytes.
_LIMIT_BYTES = 1 << 20

_FOLDERS = (".laguna-tui-previous-1", ".laguna-tui-previous-2")
"""Folders for previous builds: that of the last replacement stays until the next one has succeeded."""


@dataclass(frozen=True, slots=True)
class ExchangeRecord:
    """Record of one replacement.

    Attributes:
        tag: Tag of the installed build.
        packages: Packages installed with it, a plug-in itself included.
        plugin: Whether a plug-in was put beside the installed build, which stays.
        folder: Where the previous build is, in the folder of the installed packages; empty when nothing was replaced.
        paths: Folders and files of the previous build, relative to either; its metadata first.
    """

    tag: str
    packages: tuple[str, ...]
    plugin: bool
    folder: str
    paths: tuple[str, ...]

    @property
    def previous(self) -> str:
        """Name and version of the previous build; empty when nothing was replaced."""
        return self.paths[0].removesuffix(".dist-info") if self.paths else ""

    @property
    def replaced(self) -> bool:
        """Whether the previous build, if any, is aside."""
        return all(Path(self.folder, path).exists() for path in self.paths[:1])

    @property
    def added(self) -> tuple[str, ...]:
        """The packages to uninstall for it to be undone."""
        return (PACKAGE, *self.packages) if self.replaced and not self.plugin else self.packages


class Rollback:
    """The previous builds of one environment."""

    def __init__(self, state: Path, prefix: str) -> None:
        """Create it. `state`: the app's state folder, which several environments may share."""
        mark = hashlib.sha256(os.fsencode(prefix)).hexdigest()[:_MARK_LETTERS]
        self.folder = state / "setup-gpu" / mark
        self.work = self.folder / "work"
        self._pending, self._last = self.folder / "pending.json", self.folder / "kept.json"

    def prepare(self) -> None:
        """Create the folders, emptied of an earlier run. Raises UserError when that is not possible."""
        try:
            shutil.rmtree(self.work, ignore_errors=True)
            self.work.mkdir(parents=True, mode=0o700)
        except OSError as error:
            raise UserError(f"{self.work} cannot be created ({error.strerror}); see: laguna-tui doctor") from error

    def clean(self) -> None:
        """Remove temporary files."""
        shutil.rmtree(self.work, ignore_errors=True)

    def begin(self, site: Path, tag: str, packages: tuple[str, ...], *, plugin: bool = False) -> ExchangeRecord:
        """Record that the installed build is about to be replaced.

        Raises:
            SetupFailed: It cannot be set aside; nothing is recorded.
        """
        previous = None if plugin else installed(site)
        folder = ""
        paths: tuple[str, ...] = ()
        try:
            if previous is not None:
                last = _read(self._last)
                free = (site / name for name in _FOLDERS if last is None or Path(last.folder).name != name)
                folder, paths = str(next(free)), _paths(previous, site)
                shutil.rmtree(folder, ignore_errors=True)
                Path(folder).mkdir()
            record = ExchangeRecord(tag, packages, plugin, folder, paths)
            # On the disk before anything is replaced.
            write_atomically(self._pending, msgspec.json.encode(record), durable=True)
        except OSError as error:
            why = f"the installed build cannot be set aside ({error.strerror})"
            raise SetupFailed(f"{why}; make room on the disk and run this again") from error
        return record

    def set_aside(self, record: ExchangeRecord) -> None:
        """Move the installed build into its folder."""
        for path in record.paths:
            aside = Path(record.folder, path)
            aside.parent.mkdir(parents=True, exist_ok=True)
            (Path(record.folder).parent / path).replace(aside)

    def put_back(self, record: ExchangeRecord) -> None:
        """Move back what was set aside; continues after an interruption.

        Raises:
            SetupFailed: A file cannot be moved.
        """
        try:
            # Its metadata last: without them nothing is installed.
            for path in reversed(record.paths):
                aside, place = Path(record.folder, path), Path(record.folder).parent / path
                if aside.exists():
                    shutil.rmtree(place, ignore_errors=True)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    aside.replace(place)
        except OSError as error:
            why = f"the previous build could not be restored from {record.folder} ({error.strerror})"
            raise SetupFailed(f"{why}; fix that and run this again") from error

    def pending(self) -> ExchangeRecord | None:
        """Return the replacement that was begun and neither committed nor undone, if any."""
        return _read(self._pending)

    def commit(self) -> None:
        """Mark the replacement as successful; its previous build is now the one to roll back to."""
        before = _read(self._last)
        self._pending.replace(self._last)
        if before is not None:
            shutil.rmtree(before.folder, ignore_errors=True)

    def forget(self, record: ExchangeRecord) -> None:
        """Remove a record: it was undone, or cannot be."""
        for path in (self._pending, self._last):
            if _read(path) == record:
                path.unlink()
        shutil.rmtree(record.folder, ignore_errors=True)

    def last(self) -> ExchangeRecord | None:
        """Return the last successful replacement, if its previous build still exists."""
        record = _read(self._last)
        return record if record is not None and record.replaced else None


def installed(site: Path) -> Distribution | None:
    """Return the installed llama.cpp in the folder `site`, and in no other."""
    plain = PACKAGE.replace("-", "_")
    found = (one for one in distributions(path=[str(site)]) if (one.metadata["Name"] or "").replace("-", "_") == plain)
    return next(found, None)


def _paths(distribution: Distribution, site: Path) -> tuple[str, ...]:
    """Return what belongs to a distribution alone: its folders, metadata first, then its files in shared folders."""
    files = [file for file in distribution.files or () if ".." not in file.parts]
    metadata = {file.parts[0] for file in files if file.parts[0].endswith(".dist-info")}
    if not metadata:
        raise SetupFailed(
            "the build was not installed by pip, so it cannot be set aside; install laguna-tui with pipx first"
        )
    packages = {file.parts[0] for file in files if file.parts[1:] == ("__init__.py",)}
    shared = {str(file) for file in files if file.parts[0] not in packages | metadata}
    return (*metadata, *(path for path in sorted(packages | shared) if (site / path).exists()))


def _read(path: Path) -> ExchangeRecord | None:
    with suppress(OSError, msgspec.DecodeError, RecursionError):
        record = msgspec.json.decode(read_small_file(path, _LIMIT_BYTES), type=ExchangeRecord)
        # Its folder will be removed, so it must be one of ours.
        return record if not record.folder or Path(record.folder).name in _FOLDERS else None
    return None
