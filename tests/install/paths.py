"""The ways to install a release, each in a clean environment: no compiler, no headers, no pip cache, no network.

The home folder is empty, and on the PATH are Python, git and a few basic programs, nothing else. Where the system
allows it, everything runs in a network namespace of its own that has no interface; what is installed comes from a
folder of wheels, which stands for an index. `source` alone has the machine's PATH and its network.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = (
    *("sh env uname mkdir rm cp mv ln ls cat cut date dirname readlink mktemp grep sed sha256sum tar gzip git".split()),
)
TOOLS = ("pip", "pipx", "uv")
QUESTION, ANSWER = "where is total defined?", "cart.py:1"


@dataclass(frozen=True, slots=True)
class Installed:
    """How an installation went.

    Attributes:
        seconds: That it took, without the download.
        answer_seconds: Until the first answer of the bundled model, from the start of the program.
        nbytes: Of the environment.
        answer: What the bundled model said.
    """

    seconds: float
    answer_seconds: float
    nbytes: int
    answer: str


class Clean:
    """A clean environment below `folder`, and the release in `dist`: its wheels and its bundle."""

    def __init__(self, folder: Path, dist: Path, *, python: str = sys.executable) -> None:
        self.folder, self.dist, self.home = folder, dist, folder / "home"
        self.wheels = folder / "wheels"
        self.python = str(folder / "bin/python3")
        for made in (self.home, folder / "bin", folder / "project"):
            made.mkdir(parents=True)
        (folder / "bin/python3").symlink_to(Path(shutil.which(python) or python).resolve())
        for name in PROGRAMS:
            if found := shutil.which(name):
                (folder / "bin" / name).symlink_to(found)
        (folder / "project/cart.py").write_text("def total(items):\n    return sum(items)\n", encoding="utf-8")
        with tarfile.open(next(dist.glob("*-offline-*.tar.gz"))) as archive:
            archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python before 3.11.4 has none
            archive.extractall(folder)
        self.bundle = next(folder.glob("*-offline"))
        shutil.copytree(self.bundle / "wheels", self.wheels)

    @property
    def version(self) -> str:
        """Of its Python, as `3.13`."""
        return self.run(self.python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()

    @property
    def environment(self) -> dict[str, str]:
        """The whole environment of what runs here."""
        return {"HOME": str(self.home), "PATH": f"{self.folder / 'bin'}", "LANG": "C.UTF-8", "PIP_NO_CACHE_DIR": "1",
                "PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}  # fmt: skip

    def run(self, *command: str | Path, more: Mapping[str, str] | None = None) -> str:
        """Run a command here; returns what it says. Raises CalledProcessError, with its errors, if it fails."""
        environment = {**self.environment, **(more or {})}
        words = [*_without_network(), *map(str, command)]
        run = subprocess.run(
            words, env=environment, cwd=self.folder / "project", capture_output=True, text=True, check=False
        )
        if run.returncode:
            sys.stderr.write(run.stdout[-4000:] + run.stderr[-4000:])
            run.check_returncode()
        return run.stdout

    def tool(self, name: str) -> Path:
        """A program such as pipx, in an environment of its own; not part of what is measured."""
        house = self.folder / "tools"
        if not house.exists():
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--dest", house, *TOOLS], check=True)
            for path in house.glob("pip-*.whl"):
                shutil.copy(path, self.wheels)
        environment = self.folder / f"of-{name}"
        self.run(self.python, "-m", "venv", environment)
        self.run(environment / "bin/python", "-m", "pip", "install", "--no-index", "--find-links", house, name)
        return environment / "bin" / name


def by_pip(clean: Clean) -> Path:
    """`pip install laguna-tui --find-links …` in a virtual environment."""
    environment = clean.folder / "environment"
    clean.run(clean.python, "-m", "venv", environment)
    clean.run(
        environment / "bin/python", "-m", "pip", "install", "--no-index", "--find-links", clean.wheels, "laguna-tui"
    )
    return environment / "bin/laguna-tui"


def by_pipx(clean: Clean) -> Path:
    """`pipx install laguna-tui`."""
    links = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(clean.wheels)}
    clean.run(clean.tool("pipx"), "install", "--python", clean.python, "laguna-tui", more=links)
    return clean.home / ".local/bin/laguna-tui"


def by_uv(clean: Clean) -> Path:
    """`uv tool install laguna-tui`."""
    quiet = {"UV_NO_CACHE": "1", "UV_PYTHON_DOWNLOADS": "never"}
    links = ("--no-index", "--find-links", clean.wheels)
    clean.run(clean.tool("uv"), "tool", "install", "--python", clean.python, *links, "laguna-tui", more=quiet)
    return clean.home / ".local/bin/laguna-tui"


def by_script(clean: Clean) -> Path:
    """`install.sh` with a release's folder."""
    clean.run("sh", clean.dist / "install.sh", "--from", clean.bundle)
    return clean.home / ".local/bin/laguna-tui"


def by_bundle(clean: Clean) -> Path:
    """The offline bundle: unpacked, and `install.sh` in it."""
    clean.run("sh", clean.bundle / "install.sh")
    return clean.home / ".local/bin/laguna-tui"


def by_source(clean: Clean) -> Path:
    """The same with llama.cpp compiled for this machine; with its compiler and its network."""
    environment = clean.folder / "environment"
    wheel = next(clean.dist.glob("laguna_tui-*.whl"))
    for command in (
        [clean.python, "-m", "venv", environment],
        [environment / "bin/python", "-m", "pip", "install", "--quiet", "--no-binary", "llama-cpp-python", wheel],
    ):
        subprocess.run(list(map(str, command)), check=True)
    return environment / "bin/laguna-tui"


PATHS: dict[str, Callable[[Clean], Path]] = {
    "pip": by_pip, "pipx": by_pipx, "uv": by_uv, "install.sh": by_script, "bundle": by_bundle, "source": by_source,
}  # fmt: skip


def install(path: str, clean: Clean) -> Installed:
    """Install by a path, and ask the bundled model a question."""
    if path in TOOLS[1:]:
        clean.tool(path)
    begun = time.perf_counter()
    program = PATHS[path](clean)
    installed = time.perf_counter()
    answer = clean.run(program, "ask", QUESTION)
    answered = time.perf_counter()
    return Installed(installed - begun, answered - installed, _nbytes(program.resolve().parents[1]), answer)


def _nbytes(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _without_network() -> tuple[str, ...]:
    """The beginning of a command that has no network; empty where the system does not allow that."""
    prefix = ("/usr/bin/unshare", "--net", *(() if os.geteuid() == 0 else ("--map-root-user",)))
    try:
        allowed = subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return ()
    return prefix if allowed else ()
