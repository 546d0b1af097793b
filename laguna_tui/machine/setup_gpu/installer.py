"""Replaces the installed build: download, test beside the installed one, set that aside, install, test again.

The environment is unchanged until the download was tried. After that any failure, Ctrl-C included, restores the
previous build; after a power cut the next run restores it.
"""

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from laguna_tui.base.network import Network
from laguna_tui.base.paths import state_dir
from laguna_tui.base.units import GIB, memory
from laguna_tui.machine.doctor.repairs import Repair
from laguna_tui.machine.setup_gpu.builds import PrebuiltBuild
from laguna_tui.machine.setup_gpu.pip import NotOffered, Pip, PythonEnvironment, SetupFailed
from laguna_tui.machine.setup_gpu.rollback import ExchangeRecord, Rollback
from laguna_tui.machine.setup_gpu.trial import Trial, Try, try_nano

RUNNING = "another laguna-tui setup is running in this environment; wait until it ends"
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class BuildOffer:
    """A build, and the packages with the libraries that it needs and this machine lacks."""

    build: PrebuiltBuild
    packages: tuple[str, ...]

    @property
    def needed_bytes(self) -> int:
        """Free bytes needed. A wheel has up to 2 GiB, the largest file that its host accepts, and is unpacked.

        A plug-in has a hundredth of that, and the other builds of cards that are not NVIDIA's have little more.
        """
        large = self.build.packages and not self.build.plugin
        return (5 * GIB if large else 1 * GIB) + (2 * GIB if self.packages else 0)


@dataclass(frozen=True, slots=True)
class Installer:
    """Replaces the build in one environment.

    Attributes:
        environment: Where packages are installed.
        rollback: Keeps the previous build.
        pip: The environment's pip.
        attempt: Tries a build.
        say: Prints a line.
        show: Prints a progress line that the next one overwrites.
    """

    environment: PythonEnvironment
    rollback: Rollback
    pip: Pip
    attempt: Try
    say: Callable[[str], None]
    show: Callable[[str], None]

    def recover(self) -> bool:
        """Undo an interrupted replacement; returns whether there was one. Raises SetupFailed if it cannot be undone."""
        record = self.rollback.pending()
        if record is None:
            return False
        self.say("An earlier setup was interrupted; restoring the previous build.")
        self._undo(record)
        return True

    def set_up(self, base: str, offers: Sequence[BuildOffer]) -> Trial:
        """Install the first offered build found in the indexes below `base`; returns the result of its trial.

        Raises:
            SetupFailed: It failed; the environment is unchanged or restored.
        """
        self.rollback.prepare()
        try:
            offer = self._downloaded(base, offers)
            stage = self.pip.work / "site"
            self.show("unpacking")
            wheels = self.pip.stage(stage)
            for wheel in wheels:
                self.say(f"downloaded {wheel.path.name}\n  sha256 {wheel.sha256}")
            self._try_staged(stage)
            return self._install(offer)
        finally:
            self.rollback.clean()

    def roll_back(self, record: ExchangeRecord) -> None:
        """Restore the build before the last replacement. Raises SetupFailed if it cannot be restored."""
        self.rollback.prepare()
        try:
            self.show("restoring the previous build")
            self._put_back(record)
            self.rollback.forget(record)
        finally:
            self.rollback.clean()

    def _downloaded(self, base: str, offers: Sequence[BuildOffer]) -> BuildOffer:
        reasons = []
        for offer in offers:
            self._check_space(offer)
            try:
                self.pip.fetch(base, offer.build, self._download_progress(offer.build.name))
            except NotOffered as missing:
                self.say(f"{missing}.")
                reasons.append(offer.build.name)
                continue
            if offer.packages:
                self.pip.fetch_runtime(offer.packages, self._download_progress("the CUDA runtime"))
            return offer
        tried = ", ".join(reasons)
        raise SetupFailed(
            f"no index below {without_credentials(base)} has this version for this machine (tried: {tried}); "
            "build it here instead: laguna-tui setup gpu --source"
        )

    def _check_space(self, offer: BuildOffer) -> None:
        for folder in (self.pip.work, self.environment.site):
            free = shutil.disk_usage(folder).free
            if free < offer.needed_bytes:
                raise SetupFailed(
                    f"{folder} has {memory(free)} free on its disk, and {offer.build.title} may need "
                    f"{memory(offer.needed_bytes, 0)} during the installation; make room and run this again"
                )

    def _download_progress(self, what: str) -> Callable[[], None]:
        def waiting() -> None:
            self.show(f"downloading {what}: {_size(self.pip.work) / _MIB:,.0f} MiB")

        return waiting

    def _try_staged(self, stage: Path) -> None:
        self.show("testing it beside the installed build")
        trial = self.attempt(self.environment.python, stage)
        if trial.trouble:
            raise SetupFailed(
                f"the downloaded build does not work here: {trial.trouble}. Nothing was changed; try another build "
                "(laguna-tui setup gpu --tag vulkan), or see: laguna-tui doctor"
            )
        # Two unpacked copies need not exist at the same time.
        shutil.rmtree(stage, ignore_errors=True)

    def _install(self, offer: BuildOffer) -> Trial:
        self.show("installing")
        plugin = offer.build.plugin
        packages = tuple(name.partition("==")[0] for name in offer.packages)
        beside = (plugin, *packages) if plugin else packages
        record = self.rollback.begin(self.environment.site, offer.build.name, beside, plugin=bool(plugin))
        try:
            self.rollback.set_aside(record)
            self.pip.install()
            self.show("testing the installed build")
            trial = self.attempt(self.environment.python, None)
            if trial.trouble:
                why = f"the installed build does not work: {trial.trouble}"
                raise SetupFailed(f"{why}; the previous build was restored")
            self.rollback.commit()
        except BaseException:
            self._undo(record)
            raise
        return trial

    def _undo(self, record: ExchangeRecord) -> None:
        self.show("restoring the previous build")
        lost = record.folder and not Path(record.folder).is_dir()
        if not lost:
            self._put_back(record)
        self.rollback.forget(record)
        if lost:
            # Uninstalling the new build would leave none at all.
            raise SetupFailed(
                f"{record.folder}, the folder of the previous build, is missing, so the new build stays installed; "
                "if laguna-tui no longer starts, reinstall it"
            )

    def _put_back(self, record: ExchangeRecord) -> None:
        self.pip.remove(record.added)
        self.rollback.put_back(record)


def without_credentials(address: str) -> str:
    """Return an address without the user name and password that it may contain."""
    scheme, mark, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}" if mark else address


def _size(folder: Path) -> int:
    """Return the bytes in the files below; files that disappear meanwhile are left out."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += Path(place, name).stat().st_size
    return total


def interrupted_setup() -> Iterator[Repair]:
    """Yield the repair that restores the build before an interrupted setup; nothing without one."""
    rollback = Rollback(state_dir(), sys.prefix)

    def restore() -> None:
        environment = PythonEnvironment.of()
        pip = Pip(environment, rollback.work, Network(offline=True))
        try:
            with FileLock(rollback.folder / "lock", timeout=0):
                Installer(environment, rollback, pip, try_nano, lambda text: None, lambda text: None).recover()
                rollback.clean()
        except Timeout as error:
            raise SetupFailed(RUNNING) from error

    if rollback.pending() is not None:
        yield Repair("the build before an interrupted setup is restored", restore)
