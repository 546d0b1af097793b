"""Backup of the previous build in the state folder, for a rollback or after an interrupted replacement."""

import hashlib
import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from laguna_engine.files import read_small_file, write_atomically
from laguna_tui.base.errors import UserError
from laguna_tui.machine.setup_gpu.wheels import SetupFailed, Wheel, installed, pack

_MARK_LETTERS = 16
# A record takes less than a kilobyte.
_LIMIT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ExchangeRecord:
    """Record of one replacement.

    Attributes:
        wheel: File name of the previous build's backup; empty when nothing was replaced.
        tag: Tag of the installed build.
        sha256: Hash of its wheel.
        packages: Packages installed with it, a plug-in itself included.
        plugin: Whether a plug-in was put beside the installed build, which stays.
        backup: Hash of the backup; empty in records of versions that did not keep it.
    """

    wheel: str
    tag: str
    sha256: str
    packages: tuple[str, ...]
    plugin: bool = False
    backup: str = ""


class Rollback:
    """The backups of one environment."""

    def __init__(self, state: Path, prefix: str) -> None:
        """state: the app's state folder, which several environments may share."""
        mark = hashlib.sha256(os.fsencode(prefix)).hexdigest()[:_MARK_LETTERS]
        self.folder = state / "setup-gpu" / mark
        self.work = self.folder / "work"

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

    def begin(
        self, site: Path, tag: str, sha256: str, packages: tuple[str, ...], *, plugin: bool = False
    ) -> ExchangeRecord:
        """Back up the installed build and record that it is about to be replaced.

        Args:
            site: Folder of the installed packages.
            tag: Tag of the build to install.
            sha256: Hash of its wheel.
            packages: Packages to install with it.
            plugin: It is a plug-in: nothing is replaced, so nothing is backed up.

        Raises:
            SetupFailed: It cannot be backed up; nothing is recorded and nothing is left behind.
        """
        shutil.rmtree(self._incoming, ignore_errors=True)
        try:
            self._incoming.mkdir(parents=True)
            previous = None if plugin else installed(site)
            backup = None if previous is None else Wheel.of(pack(previous, site, self._incoming))
            name, digest = ("", "") if backup is None else (backup.path.name, backup.sha256)
            record = ExchangeRecord(name, tag, sha256, packages, plugin, digest)
            _write(self.folder / "pending.json", record)
        except BaseException as error:
            shutil.rmtree(self._incoming, ignore_errors=True)
            if not isinstance(error, OSError):
                raise
            why = f"the installed build cannot be backed up ({error.strerror})"
            raise SetupFailed(f"{why}; make room on the disk and run this again") from error
        return record

    def pending(self) -> ExchangeRecord | None:
        """Return the replacement that was begun and neither committed nor undone, if any."""
        return _read(self.folder / "pending.json")

    def commit(self, record: ExchangeRecord) -> None:
        """Mark the replacement as successful; its backup is now the one to roll back to."""
        shutil.rmtree(self._before, ignore_errors=True)
        self._incoming.replace(self._before)
        _write(self.folder / "kept.json", record)
        (self.folder / "pending.json").unlink()

    def forget_pending(self) -> None:
        """Remove the pending record: it was undone, or cannot be."""
        if not self._incoming.is_dir():
            # It was interrupted while being committed: the earlier backup is gone.
            self.forget()
        (self.folder / "pending.json").unlink(missing_ok=True)
        shutil.rmtree(self._incoming, ignore_errors=True)

    def last(self) -> ExchangeRecord | None:
        """Return the last successful replacement, if its backup still exists."""
        record = _read(self.folder / "kept.json")
        return record if record is None or not record.wheel or self.wheel(record) is not None else None

    def forget(self) -> None:
        """Remove the last replacement's record and backup, after a rollback."""
        (self.folder / "kept.json").unlink(missing_ok=True)
        shutil.rmtree(self._before, ignore_errors=True)

    def wheel(self, record: ExchangeRecord, *, pending: bool = False) -> Path | None:
        """Return the backup of the previous build; None when nothing was replaced, or when it is missing or damaged.

        Args:
            record: The replacement.
            pending: It is not committed, or was interrupted while being committed.
        """
        for folder in (self._incoming, self._before) if pending else (self._before,):
            path = folder / record.wheel
            if record.wheel and path.is_file() and record.backup in ("", Wheel.of(path).sha256):
                return path
        return None

    @property
    def _incoming(self) -> Path:
        """Backup of a replacement that is not committed."""
        return self.folder / "incoming"

    @property
    def _before(self) -> Path:
        """Backup of the last successful replacement."""
        return self.folder / "before"


def _write(path: Path, record: ExchangeRecord) -> None:
    """Write it atomically, and onto the disk before anything is replaced."""
    write_atomically(path, json.dumps(asdict(record)), durable=True)


def _read(path: Path) -> ExchangeRecord | None:
    try:
        value = json.loads(read_small_file(path, _LIMIT_BYTES))
        return ExchangeRecord(
            str(value["wheel"]),
            str(value["tag"]),
            str(value["sha256"]),
            tuple(map(str, value["packages"])),
            bool(value.get("plugin", False)),
            str(value.get("backup", "")),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
