"""The Python environment that the app lives in, and its pip, called so that it does what is shown and nothing else.

What the user's pip is configured to do with indexes would decide otherwise which wheel is taken: with another index or
a folder of wheels in reach, pip may prefer a CPU build of the same version. How the network is reached is kept.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from laguna_engine.native.child import Output, outside_python, run
from laguna_engine.native.selftest import BINDING_VERSION
from laguna_tui.base.errors import UserError
from laguna_tui.base.network import Network
from laguna_tui.setup_gpu.builds import PrebuiltBuild
from laguna_tui.setup_gpu.setup_errors import NotOffered, SetupFailed
from laguna_tui.setup_gpu.wheels import PACKAGE, Wheel

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


@dataclass(frozen=True, slots=True)
class PythonEnvironment:
    """site: the folder that packages are installed into. managed: the system's package manager owns it."""

    python: str
    prefix: str
    site: Path
    has_pip: bool
    managed: bool
    writable: bool

    @classmethod
    def of(cls, python: str = sys.executable) -> "PythonEnvironment":
        """The one that this Python runs in; asked in a process of its own. UserError when it does not answer."""
        answer = run((*outside_python(python), "-c", _QUERY), _LIMIT_S)
        if not answer.good:
            raise UserError(f"{python} does not run as it should; install laguna-tui again")
        told = json.loads(answer.text)
        return cls(python, **{**told, "site": Path(told["site"])})

    def check(self) -> None:
        """UserError when packages cannot be exchanged here; says what to do instead."""
        if self.managed:
            raise UserError(
                f"{self.prefix} belongs to the system's package manager; install laguna-tui with pipx "
                "(pipx install laguna-tui), or in a virtual environment, and run this again there"
            )
        if not self.has_pip:
            raise UserError(
                f"there is no pip in {self.prefix}; add it (python -m ensurepip, or where uv made it: "
                f"uv pip install --python {self.python} pip) and run this again"
            )
        if not self.writable:
            raise UserError(f"{self.site} cannot be written; run this as the user who installed laguna-tui")


NEED = "the build for the graphics card must be fetched"
"""What needs a connection, for the sentence of `OfflineError`."""
REQUIREMENT = f"{PACKAGE}=={BINDING_VERSION}"

_FETCH_LIMIT_S = 4 * 3600.0
"""Two gigabytes over a slow line. A connection that stalls is given up by pip itself, much earlier."""
_INSTALL_LIMIT_S = 1800.0
_LOOK_LIMIT_S = 60.0

_NETWORK = ("cert", "client-cert", "proxy", "trusted-host", "timeout", "default-timeout", "keyring-provider")
"""The settings of pip that say how to reach a server, not which."""

_UNREACHABLE = re.compile(r"Retrying \(|connection error|Max retries exceeded|SSLError|ProxyError|5\d\d Server Error")

_RETRIES = "2"
"""Enough for a hiccup, and more than none: only a retry tells a server that is away from one without the version."""

_QUIET = ("--disable-pip-version-check", "--no-input")


class Pip:
    """The pip of an environment."""

    def __init__(self, environment: PythonEnvironment, work: Path, network: Network) -> None:
        """`work` is a folder for what it writes on the way; it must have room. network: says whether it may fetch."""
        self.environment = environment
        self.work = work
        self.network = network

    @property
    def wheels(self) -> Path:
        """Where fetched wheels go."""
        return self.work / "wheels"

    def fetch_command(self, base: str, tag: PrebuiltBuild) -> tuple[str, ...]:
        """Fetch the pinned wheel from a tag's index; never a source archive, which pip would compile for the CPU."""
        index = f"{base.rstrip('/')}/{tag.name}"
        return self._fetch("--index-url", index, REQUIREMENT)

    def runtime_command(self, packages: Sequence[str]) -> tuple[str, ...]:
        """Fetch the packages with CUDA's runtime, from wherever pip is set up to take packages."""
        return self._fetch(*packages)

    def install_command(self) -> tuple[str, ...]:
        """Install what was fetched and tried, by its hashes and without an index."""
        return self._call("install", "--no-deps", "--no-index", "--force-reinstall", "-r", str(self._pinned))

    def fetch(self, base: str, tag: PrebuiltBuild, waiting: Callable[[], None]) -> None:
        """NotOffered when the index has no such wheel; SetupFailed for anything else that goes wrong.

        OfflineError when nothing may be fetched.
        """
        self.network.require(NEED)
        answer = self._run(self.fetch_command(base, tag), _FETCH_LIMIT_S, self._undistracted, waiting)
        said = answer.text + answer.errors
        # pip says that there is no such version also when it could not ask.
        if not answer.good and "No matching distribution" in said and not _UNREACHABLE.search(said):
            raise NotOffered(f"{tag.name} has no wheel of {REQUIREMENT} for this machine")
        _expect(answer, f"{REQUIREMENT} could not be fetched", "look at the connection and run this again")

    def fetch_runtime(self, packages: Sequence[str], waiting: Callable[[], None]) -> None:
        """SetupFailed when they cannot be had, OfflineError when nothing may be fetched."""
        self.network.require(NEED)
        answer = self._run(self.runtime_command(packages), _FETCH_LIMIT_S, os.environ, waiting)
        todo = "install the CUDA runtime with your system's packages, then run this again"
        _expect(answer, f"{' and '.join(packages)} could not be fetched", todo)

    def stage(self, folder: Path) -> tuple[Wheel, ...]:
        """Unpack what was fetched into `folder`, which is no environment; returns it with the hashes pip reports."""
        report = self.work / "report.json"
        paths = sorted(map(str, self.wheels.glob("*.whl")))
        options = ("--no-deps", "--no-index", "--target", str(folder), "--report", str(report))
        answer = self._run(self._call("install", *options, *paths), _INSTALL_LIMIT_S, self._local)
        _expect(answer, "what was fetched could not be unpacked", "make room on the disk, or try another --tag")
        wheels = tuple(Wheel.of(Path(path)) for path in paths)
        _agree(wheels, report)
        lines = [f"{wheel.path.as_uri()} --hash=sha256:{wheel.sha256}\n" for wheel in wheels]
        self._pinned.write_text("".join(lines), encoding="utf-8")
        return wheels

    def install(self) -> None:
        """Into the environment, what `stage` unpacked and nothing else. SetupFailed when pip could not."""
        answer = self._run(self.install_command(), _INSTALL_LIMIT_S, self._local)
        _expect(answer, "pip could not install it", "make room on the disk and run this again")

    def put_back_command(self, wheel: Path | None) -> tuple[str, ...]:
        """Install a kept wheel again, or take the package out where there was none."""
        if wheel is None:
            return self._call("uninstall", "--yes", PACKAGE)
        return self._call("install", "--no-deps", "--no-index", "--force-reinstall", str(wheel))

    def put_back(self, wheel: Path | None) -> None:
        """SetupFailed with the command to run by hand when pip could not."""
        command = self.put_back_command(wheel)
        answer = self._run(command, _INSTALL_LIMIT_S, self._local)
        _expect(answer, "what was installed before could not be brought back", f"run: {' '.join(command)}")

    def remove(self, packages: Sequence[str]) -> None:
        """Take packages out; what is left of them does no harm, so nothing is said when that fails."""
        if packages:
            self._run(self._call("uninstall", "--yes", *packages), _INSTALL_LIMIT_S, self._local)

    @property
    def _pinned(self) -> Path:
        return self.work / "wheels.txt"

    def _fetch(self, *arguments: str) -> tuple[str, ...]:
        options = ("--no-deps", "--only-binary=:all:", "--retries", _RETRIES, "--dest", str(self.wheels))
        return self._call("download", *options, *arguments)

    def _call(self, verb: str, *arguments: str) -> tuple[str, ...]:
        return (*outside_python(self.environment.python), "-m", "pip", verb, *_QUIET, *arguments)

    def _run(
        self,
        command: Sequence[str],
        limit_s: float,
        environment: Mapping[str, str],
        waiting: Callable[[], None] | None = None,
    ) -> Output:
        # Two gigabytes do not fit into many a /tmp.
        temporary = self.work / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        return run(command, limit_s, {**environment, "TMPDIR": str(temporary)}, waiting)

    @property
    def _local(self) -> dict[str, str]:
        """The user's environment without what they told pip: for what needs no network."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PIP_")}
        return {**kept, "PIP_CONFIG_FILE": os.devnull}

    @cached_property
    def _undistracted(self) -> dict[str, str]:
        """The same with what they told pip about reaching a server."""
        answer = run(self._call("config", "list"), _LOOK_LIMIT_S)
        told = re.findall(r"^\S+?\.([\w-]+)='(.*)'$", answer.text, re.MULTILINE) if answer.good else []
        network = {f"PIP_{key.upper().replace('-', '_')}": value for key, value in told if key in _NETWORK}
        return {**self._local, **network}


def _expect(answer: Output, what: str, todo: str) -> None:
    """SetupFailed, with pip's own reason, unless it went well."""
    if answer.good:
        return
    errors = [line.strip() for line in answer.errors.splitlines() if line.lower().lstrip().startswith("error")]
    reason = "it took too long" if answer.timed_out else "; ".join(dict.fromkeys(errors)) or "pip does not say why"
    raise SetupFailed(f"{what} ({reason}); {todo}")


def _agree(wheels: Sequence[Wheel], report: Path) -> None:
    """Every hash that pip reports is the file's own."""
    entries = json.loads(report.read_text(encoding="utf-8"))["install"]
    told = {entry["download_info"]["archive_info"]["hashes"]["sha256"] for entry in entries}
    if told != {wheel.sha256 for wheel in wheels}:
        raise SetupFailed("what pip unpacked is not what was fetched; run this again")
