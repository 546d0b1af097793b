"""Programs of others: how they are installed and run, and whether they asked the server."""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.app.server.serving import Served

LIMIT_S = 240


def npm(folder: Path, package: str) -> None:
    """Install a package of npm's there, unless it is."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "node_modules" / package).is_dir():
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", package], cwd=folder, check=True)


def pip(folder: Path, *packages: str, python: str = sys.executable) -> Path:
    """Install packages of PyPI's into an environment there, unless they are; their programs."""
    if not (folder / "installed").exists():
        subprocess.run([python, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "-q", *packages], check=True)
        (folder / "installed").touch()
    return folder / "bin"


def run(line: Sequence[str], folder: Path, environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """Run a program in a folder, at most `LIMIT_S` long."""
    # Some read the folder from there.
    environment = {**environment, "PWD": str(folder)}
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        program = subprocess.Popen(
            line, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=errors
        )
        try:
            program.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(line, program.returncode, output.read(), errors.read())


def was_asked(server: Served) -> bool:
    """Whether a client is known to the server."""
    print({client.name: client.requests for client in server.server.clients()})
    return bool(server.server.clients())
