"""Exchanging one build for another: fetch, try beside what is there, keep what is there, install, try again.

Until what was fetched has been tried, the environment is not touched. From then on whatever goes wrong, Ctrl-C
included, brings back what was there; a power cut is made good by the next run.
"""

import contextlib
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from laguna_tui.base.units import GIB, memory
from laguna_tui.setup_gpu.builds import PrebuiltBuild
from laguna_tui.setup_gpu.pip import Pip, PythonEnvironment
from laguna_tui.setup_gpu.rollback import ExchangeRecord, Rollback
from laguna_tui.setup_gpu.setup_errors import NotOffered, SetupFailed
from laguna_tui.setup_gpu.trial import Trial, Try

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class BuildOffer:
    """A tag, and the packages with the libraries that it needs and this machine lacks."""

    tag: PrebuiltBuild
    packages: tuple[str, ...]

    @property
    def room(self) -> int:
        """Bytes that must be free. A wheel has up to 2 GiB, the largest file that its host takes, and is unpacked."""
        return (5 * GIB if self.tag.packages else 1 * GIB) + (2 * GIB if self.packages else 0)


@dataclass(frozen=True, slots=True)
class Installer:
    """The exchange in one environment. say: a line that stays; show: one that the next overwrites."""

    environment: PythonEnvironment
    rollback: Rollback
    pip: Pip
    attempt: Try
    say: Callable[[str], None]
    show: Callable[[str], None]

    def recover(self) -> bool:
        """Undo an exchange that was cut off, by a crash say. Whether there was one. SetupFailed if it cannot be."""
        record = self.rollback.unfinished()
        if record is None:
            return False
        self.say("An earlier setup did not come to its end; bringing back what was there before it.")
        self._undo(record)
        return True

    def set_up(self, base: str, offers: Sequence[BuildOffer]) -> Trial:
        """Install the first offer that the indexes below `base` hold, if it works; returns how well.

        Raises:
            SetupFailed: nothing was changed, or everything is as it was again.
        """
        self.rollback.prepare()
        try:
            offer = self._fetched(base, offers)
            stage = self.pip.work / "site"
            self.show("unpacking")
            wheels = self.pip.stage(stage)
            for wheel in wheels:
                self.say(f"fetched {wheel.path.name}\n  sha256 {wheel.sha256}")
            self._try_beside(stage)
            main = next(wheel for wheel in wheels if wheel.path.name.startswith("llama_cpp_python-"))
            return self._installed(offer, main.sha256)
        finally:
            self.rollback.clean()

    def roll_back(self, record: ExchangeRecord) -> None:
        """Bring back what was there before the exchange that counted. SetupFailed when pip cannot."""
        self.rollback.prepare()
        try:
            self.show("bringing back the build before")
            self.pip.put_back(self.rollback.before(record))
            self.pip.remove(record.packages)
            self.rollback.forget()
        finally:
            self.rollback.clean()

    def _fetched(self, base: str, offers: Sequence[BuildOffer]) -> BuildOffer:
        reasons = []
        for offer in offers:
            self._make_sure_of_room(offer)
            try:
                self.pip.fetch(base, offer.tag, self._fetching(offer.tag.name))
            except NotOffered as missing:
                self.say(f"{missing}.")
                reasons.append(offer.tag.name)
                continue
            if offer.packages:
                self.pip.fetch_runtime(offer.packages, self._fetching("the CUDA runtime"))
            return offer
        tried = ", ".join(reasons)
        raise SetupFailed(
            f"no index below {without_credentials(base)} has this version for this machine (asked: {tried}); "
            "build it here instead: laguna-tui setup gpu --source"
        )

    def _make_sure_of_room(self, offer: BuildOffer) -> None:
        for folder in (self.pip.work, self.environment.site):
            free = shutil.disk_usage(folder).free
            if free < offer.room:
                raise SetupFailed(
                    f"{folder} is on a disk with {memory(free)} free, and {offer.tag.title} may take "
                    f"{memory(offer.room, 0)} on the way; make room and run this again"
                )

    def _fetching(self, what: str) -> Callable[[], None]:
        def waiting() -> None:
            self.show(f"fetching {what}: {_size(self.pip.work) / _MIB:,.0f} MiB")

        return waiting

    def _try_beside(self, stage: Path) -> None:
        self.show("trying it beside what is installed")
        trial = self.attempt(self.environment.python, stage)
        if trial.trouble:
            raise SetupFailed(
                f"what was fetched does not work here: {trial.trouble}. Nothing was changed; try another build "
                "(laguna-tui setup gpu --tag vulkan), or see: laguna-tui doctor"
            )
        # Two unpacked copies need not lie there at the same time.
        shutil.rmtree(stage, ignore_errors=True)

    def _installed(self, offer: BuildOffer, sha256: str) -> Trial:
        self.show("keeping what is installed now")
        packages = tuple(name.partition("==")[0] for name in offer.packages)
        record = self.rollback.begin(self.environment.site, offer.tag.name, sha256, packages)
        try:
            self.show("installing")
            self.pip.install()
            self.show("trying what is installed")
            trial = self.attempt(self.environment.python, None)
            if trial.trouble:
                raise SetupFailed(f"once installed it did not work: {trial.trouble}; what was there before is back")
            self.rollback.settle(record)
        except BaseException:
            self._undo(record)
            raise
        return trial

    def _undo(self, record: ExchangeRecord) -> None:
        self.show("bringing back the build before")
        self.pip.work.mkdir(parents=True, exist_ok=True)
        wheel = self.rollback.before(record, unfinished=True)
        if record.wheel and wheel is None:
            # Taking out what is installed would leave nothing at all.
            self.rollback.forget_unfinished()
            raise SetupFailed(
                f"{record.wheel}, which was installed before, is gone from {self.rollback.folder}, so what is installed"
                " stays; if laguna-tui does not start any more, install it again"
            )
        self.pip.put_back(wheel)
        self.pip.remove(record.packages)
        self.rollback.forget_unfinished()


def without_credentials(address: str) -> str:
    """An address without the name and the password that may stand in it."""
    scheme, mark, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}" if mark else address


def _size(folder: Path) -> int:
    """Bytes in the files below; what vanishes meanwhile is left out."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += Path(place, name).stat().st_size
    return total
