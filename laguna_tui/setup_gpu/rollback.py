"""What was installed before, kept in the state folder: the way back, also after the power went in the middle."""

import hashlib
import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from laguna_engine.files import read_small_file, write_atomically
from laguna_tui.base.errors import UserError
from laguna_tui.setup_gpu.setup_errors import SetupFailed
from laguna_tui.setup_gpu.wheels import installed, pack

_MARK_LETTERS = 16
# A record has less than a kilobyte.
_LIMIT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ExchangeRecord:
    """One exchange. wheel: the file's name of what was there before, empty when nothing was. packages: what came in
    besides. tag, sha256: of what was installed."""

    wheel: str
    tag: str
    sha256: str
    packages: tuple[str, ...]


class Rollback:
    """The folder for one environment."""

    def __init__(self, state: Path, prefix: str) -> None:
        """`state` is the app's state folder; several environments of one user do not mix in it."""
        mark = hashlib.sha256(os.fsencode(prefix)).hexdigest()[:_MARK_LETTERS]
        self.folder = state / "setup-gpu" / mark
        self.work = self.folder / "work"

    def prepare(self) -> None:
        """Make the folders, empty of what an earlier try left. UserError when that is not possible."""
        try:
            shutil.rmtree(self.work, ignore_errors=True)
            self.work.mkdir(parents=True, mode=0o700)
        except OSError as error:
            raise UserError(f"{self.work} cannot be made ({error.strerror}); see: laguna-tui doctor") from error

    def clean(self) -> None:
        """Remove what was only needed on the way."""
        shutil.rmtree(self.work, ignore_errors=True)

    def begin(self, site: Path, tag: str, sha256: str, packages: tuple[str, ...]) -> ExchangeRecord:
        """Keep what is installed now, and note that it is about to be exchanged.

        Raises:
            SetupFailed: it cannot be kept; nothing is noted, and nothing is left of it.
        """
        shutil.rmtree(self._incoming, ignore_errors=True)
        try:
            self._incoming.mkdir(parents=True)
            before = installed(site)
            record = ExchangeRecord(
                "" if before is None else pack(before, site, self._incoming).name, tag, sha256, packages
            )
            _write(self.folder / "pending.json", record)
        except BaseException as error:
            shutil.rmtree(self._incoming, ignore_errors=True)
            if not isinstance(error, OSError):
                raise
            why = f"what is installed cannot be kept ({error.strerror})"
            raise SetupFailed(f"{why}; make room on the disk and run this again") from error
        return record

    def unfinished(self) -> ExchangeRecord | None:
        """The exchange that was begun and neither settled nor undone, if there is one."""
        return _read(self.folder / "pending.json")

    def settle(self, record: ExchangeRecord) -> None:
        """It counts: what was kept for it is now the way back."""
        shutil.rmtree(self._before, ignore_errors=True)
        self._incoming.replace(self._before)
        _write(self.folder / "kept.json", record)
        (self.folder / "pending.json").unlink()

    def forget_unfinished(self) -> None:
        """It was undone, or cannot be."""
        if not self._incoming.is_dir():
            # It was being settled: what an earlier exchange had kept is gone.
            self.forget()
        (self.folder / "pending.json").unlink(missing_ok=True)
        shutil.rmtree(self._incoming, ignore_errors=True)

    def way_back(self) -> ExchangeRecord | None:
        """The last exchange that counted, if what was there before it is still kept."""
        record = _read(self.folder / "kept.json")
        return record if record is None or not record.wheel or self.before(record) is not None else None

    def forget(self) -> None:
        """It was rolled back."""
        (self.folder / "kept.json").unlink(missing_ok=True)
        shutil.rmtree(self._before, ignore_errors=True)

    def before(self, record: ExchangeRecord, *, unfinished: bool = False) -> Path | None:
        """The wheel of what was there before; None when nothing was, or when it is gone.

        unfinished: the exchange is not settled, or was being settled when it was cut off.
        """
        for folder in (self._incoming, self._before) if unfinished else (self._before,):
            path = folder / record.wheel
            if record.wheel and path.is_file():
                return path
        return None

    @property
    def _incoming(self) -> Path:
        """What was there before an exchange that is not settled."""
        return self.folder / "incoming"

    @property
    def _before(self) -> Path:
        """What was there before the last exchange that counted."""
        return self.folder / "before"


def _write(path: Path, record: ExchangeRecord) -> None:
    """All or nothing, and on the disk before anything is exchanged."""
    write_atomically(path, json.dumps(asdict(record)), durable=True)


def _read(path: Path) -> ExchangeRecord | None:
    try:
        told = json.loads(read_small_file(path, _LIMIT_BYTES))
        return ExchangeRecord(
            str(told["wheel"]), str(told["tag"]), str(told["sha256"]), tuple(map(str, told["packages"]))
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
