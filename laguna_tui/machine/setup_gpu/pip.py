"""The Python environment that the app is installed in, and its pip, isolated from the user's configuration.

The user's index settings would change which wheel pip chooses: with another index, or a folder of wheels, pip may
prefer a CPU build of the same version. Network settings are kept.
"""

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from laguna_engine.native.child import Output, outside_python, run
from laguna_tui.base.errors import UserError
from laguna_tui.base.network import Network
from laguna_tui.machine.setup_gpu.builds import PrebuiltBuild

_LIMIT_S = 30.0

_QUERY = """
import importlib.util, json, os, sys, sysconfig
site = sysconfig.get_path("platlib")
marker = os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
print(json.dumps({
    "prefix": sys.prefix,
    "site": site,
    "has_pip": importlib.util.find_spec("pip") is not None,
    "managed": sys.prefix == sys.base_prefix and os.path.exists(marker),
    "writable": os.access(site, os.W_OK | os.X_OK),
}))
"""


class SetupFailed(Exception):
    """The setup failed, and the previous build is unchanged or restored; the message says why and what to do."""


class NotOffered(SetupFailed):
    """An index has no wheel of this version for this machine; another index may."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel's file and its SHA-256 in hex."""

    path: Path
    sha256: str

    @classmethod
    def of(cls, path: Path) -> "Wheel":
        """Hash a wheel's file."""
        with path.open("rb") as file:
            return cls(path, hashlib.file_digest(file, "sha256").hexdigest())


@dataclass(frozen=True, slots=True)
class PythonEnvironment:
    """A Python environment.

    Attributes:
        python: Its interpreter.
        prefix: Its `sys.prefix`.
        site: Folder that packages are installed into.
        has_pip: Whether it has pip.
        managed: Whether the system's package manager owns it.
        writable: Whether `site` is writable.
    """

    python: str
    prefix: str
    site: Path
    has_pip: bool
    managed: bool
    writable: bool

    @classmethod
    def of(cls, python: str = sys.executable) -> "PythonEnvironment":
        """Inspect the environment of a Python in a process of its own. Raises UserError when it does not answer."""
        answer = run((*outside_python(python), "-c", _QUERY), _LIMIT_S)
        if not answer.good:
            raise UserError(f"{python} does not run correctly; reinstall laguna-tui")
        facts = json.loads(answer.text)
        return cls(python, **{**facts, "site": Path(facts["site"])})

    def check(self) -> None:
        """Raise UserError, with the remedy, when packages cannot be replaced here."""
        if self.managed:
            raise UserError(
                f"{self.prefix} belongs to the system's package manager; install laguna-tui with pipx "
                "(pipx install laguna-tui), or in a virtual environment, and run this again there"
            )
        if not self.has_pip:
            raise UserError(
                f"{self.prefix} has no pip; add it (python -m ensurepip, or, if uv created it: "
                f"uv pip install --python {self.python} pip) and run this again"
            )
        if not self.writable:
            raise UserError(f"{self.site} is not writable; run this as the user who installed laguna-tui")


NEED = "the build for the graphics card must be downloaded"
"""What needs a connection, for the message of `OfflineError`."""

_FETCH_LIMIT_S = 4 * 3600.0
"""Seconds for two gigabytes over a slow line. pip itself gives up a stalled connection much earlier."""
_INSTALL_LIMIT_S = 1800.0
_LOOK_LIMIT_S = 60.0

_NETWORK = ("cert", "client-cert", "proxy", "trusted-host", "timeout", "default-timeout", "keyring-provider")
"""Settings of pip for reaching a server, as opposed to choosing one."""

_UNREACHABLE = re.compile(r"Retrying \(|connection error|Max retries exceeded|SSLError|ProxyError|5\d\d Server Error")

_RETRIES = "2"
"""Enough for a short outage. Not 0: only a retry distinguishes an unreachable server from a missing version."""

_QUIET = ("--disable-pip-version-check", "--no-input")


class Pip:
    """The pip of an environment."""

    def __init__(
        self, environment: PythonEnvironment, work: Path, network: Network, folder: Path | None = None
    ) -> None:
        """Create it.

        Args:
            work: Folder for temporary files, with enough room.
            folder: Folder of wheels that is used instead of the network.
        """
        self.environment = environment
        self.work = work
        self.network = network
        self.folder = folder

    @property
    def wheels(self) -> Path:
        """Folder of the downloaded wheels."""
        return self.work / "wheels"

    def fetch_command(self, base: str, build: PrebuiltBuild) -> tuple[str, ...]:
        """Return the command that downloads the pinned wheel; never a source archive, which builds for CPUs.

        A plug-in comes from the indexes pip is configured for, any other build from its own index.
        """
        if build.plugin or self.folder is not None:
            return self._fetch(build.requirement)
        return self._fetch("--index-url", f"{base.rstrip('/')}/{build.name}", build.requirement)

    def runtime_command(self, packages: Sequence[str]) -> tuple[str, ...]:
        """Return the command that downloads CUDA's runtime packages, from the indexes pip is configured for."""
        return self._fetch(*packages)

    def install_command(self) -> tuple[str, ...]:
        """Return the command that installs the downloaded and tried wheels, by their hashes and without an index."""
        return self._call("install", "--no-deps", "--no-index", "--force-reinstall", "-r", str(self._pinned))

    def fetch(self, base: str, build: PrebuiltBuild, waiting: Callable[[], None]) -> None:
        """Download the pinned wheel.

        Raises:
            NotOffered: The index has no such wheel.
            SetupFailed: The download failed.
            OfflineError: The network must not be used.
        """
        self._require_network()
        settings = os.environ if build.plugin else self._network_only
        answer = self._run(self.fetch_command(base, build), _FETCH_LIMIT_S, settings, waiting)
        output = answer.text + answer.errors
        # pip reports "No matching distribution" also when it could not reach the server.
        if not answer.good and "No matching distribution" in output and not _UNREACHABLE.search(output):
            raise NotOffered(f"{build.name} has no wheel of {build.requirement} for this machine")
        _expect(answer, f"{build.requirement} could not be downloaded", "check the connection and run this again")

    def fetch_runtime(self, packages: Sequence[str], waiting: Callable[[], None]) -> None:
        """Download the runtime packages. Raises SetupFailed, or OfflineError without permission."""
        self._require_network()
        answer = self._run(self.runtime_command(packages), _FETCH_LIMIT_S, os.environ, waiting)
        todo = "install the CUDA runtime with your system's packages, then run this again"
        _expect(answer, f"{' and '.join(packages)} could not be downloaded", todo)

    def stage(self, folder: Path) -> tuple[Wheel, ...]:
        """Unpack the downloaded wheels into `folder`, outside any environment; returns them with their hashes."""
        report = self.work / "report.json"
        paths = sorted(map(str, self.wheels.glob("*.whl")))
        options = ("--no-deps", "--no-index", "--target", str(folder), "--report", str(report))
        answer = self._run(self._call("install", *options, *paths), _INSTALL_LIMIT_S, self._local)
        _expect(answer, "the download could not be unpacked", "make room on the disk, or try another --tag")
        wheels = tuple(Wheel.of(Path(path)) for path in paths)
        _check_hashes(wheels, report)
        lines = [f"{wheel.path.as_uri()} --hash=sha256:{wheel.sha256}\n" for wheel in wheels]
        self._pinned.write_text("".join(lines), encoding="utf-8")
        return wheels

    def install(self) -> None:
        """Install what `stage` unpacked. Raises SetupFailed when pip could not."""
        answer = self._run(self.install_command(), _INSTALL_LIMIT_S, self._local)
        _expect(answer, "pip could not install it", "make room on the disk and run this again")

    def remove_command(self, packages: Sequence[str]) -> tuple[str, ...]:
        return self._call("uninstall", "--yes", *packages)

    def remove(self, packages: Sequence[str]) -> None:
        """Uninstall packages; leftovers do no harm, so a failure is ignored."""
        if packages:
            self._run(self.remove_command(packages), _INSTALL_LIMIT_S, self._local)

    @property
    def _pinned(self) -> Path:
        return self.work / "wheels.txt"

    def _fetch(self, *arguments: str) -> tuple[str, ...]:
        options = ("--no-deps", "--only-binary=:all:", "--retries", _RETRIES, "--dest", str(self.wheels))
        local = () if self.folder is None else ("--no-index", "--find-links", str(self.folder))
        return self._call("download", *options, *local, *arguments)

    def _require_network(self) -> None:
        """Raise OfflineError unless the network may be used, or is not needed."""
        if self.folder is None:
            self.network.require(NEED)

    def _call(self, verb: str, *arguments: str) -> tuple[str, ...]:
        return (*outside_python(self.environment.python), "-m", "pip", verb, *_QUIET, *arguments)

    def _run(
        self,
        command: Sequence[str],
        limit_s: float,
        environment: Mapping[str, str],
        waiting: Callable[[], None] | None = None,
    ) -> Output:
        # Many a /tmp is too small for two gigabytes.
        temporary = self.work / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        return run(command, limit_s, {**environment, "TMPDIR": str(temporary)}, waiting)

    @property
    def _local(self) -> dict[str, str]:
        """The user's environment without pip's settings, for commands that need no network."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PIP_")}
        return {**kept, "PIP_CONFIG_FILE": os.devnull}

    @cached_property
    def _network_only(self) -> dict[str, str]:
        """The same with the user's network settings of pip."""
        answer = run(self._call("config", "list"), _LOOK_LIMIT_S)
        options = re.findall(r"^\S+?\.([\w-]+)='(.*)'$", answer.text, re.MULTILINE) if answer.good else []
        network = {f"PIP_{key.upper().replace('-', '_')}": value for key, value in options if key in _NETWORK}
        return {**self._local, **network}


def _expect(answer: Output, what: str, todo: str) -> None:
    """Raise SetupFailed, with pip's reason, unless the command succeeded."""
    if answer.good:
        return
    errors = [line.strip() for line in answer.errors.splitlines() if line.lower().lstrip().startswith("error")]
    reason = "it took too long" if answer.timed_out else "; ".join(dict.fromkeys(errors)) or "pip gives no reason"
    raise SetupFailed(f"{what} ({reason}); {todo}")


def _check_hashes(wheels: Sequence[Wheel], report: Path) -> None:
    """Raise SetupFailed unless every hash that pip reports is that of its file."""
    entries = json.loads(report.read_text(encoding="utf-8"))["install"]
    reported = {_sha256(entry["download_info"]["archive_info"]) for entry in entries}
    if reported != {wheel.sha256 for wheel in wheels}:
        raise SetupFailed("pip unpacked different bytes than it downloaded; run this again")


def _sha256(archive: Mapping[str, Any]) -> str:
    """Return the hash of a file in pip's report, of which pip before 23.1 writes the standard's older form."""
    if "hashes" in archive:
        return str(archive["hashes"]["sha256"])
    return str(archive["hash"]).removeprefix("sha256=")
