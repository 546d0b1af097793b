"""Commands that start while a folder of the workspace is exchanged for a link to the home folder, again and again.

`python -m tests.app.sandbox.exchanges COUNT` starts commands until COUNT exchanges were made. `--unchecked` shows that
the attack is real, `--quiet` starts COUNT commands that nobody attacks.
"""

import argparse
import contextlib
import os
import random
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from laguna_tui.sandbox.bubblewrap import SandboxError
from laguna_tui.sandbox.launch import Prepared, prepare
from laguna_tui.sandbox.native.command_tree import CommandTree
from laguna_tui.sandbox.probe import probe_sandbox
from laguna_tui.sandbox.sandbox_policy import SandboxPolicy
from tests.app.sandbox.world import EVIL, SECRET, enter, outside_tmp

PAUSE_S = 0.02
"""Longest time that the folder stays as it is: a sandbox is planned and made in some times as long."""


class Place:
    """A home folder with a key, and a workspace with a folder that somebody exchanges."""

    def __init__(self, base: Path) -> None:
        self.home, self.workspace = base / "home", base / "workspace"
        self.folder, self.aside = self.workspace / "sub", self.workspace / "aside"
        (self.home / ".ssh").mkdir(parents=True)
        (self.home / ".ssh/key").write_text(SECRET)
        self.folder.mkdir(parents=True)
        (self.folder / ".env").write_text("mine\n")
        self.exchanges = 0

    @property
    def command(self) -> tuple[str, ...]:
        """Reads the key and writes to the home folder, where it is and where the folder leads."""
        code = "; ".join(f"cat {home}/.ssh/key; echo {EVIL} > {home}/planted" for home in (self.home, "sub"))
        return ("/bin/sh", "-c", f"{code}; echo ran")

    def prepare(self) -> Prepared:
        """Plan the sandbox of the command."""
        return prepare(probe_sandbox(), SandboxPolicy(self.workspace), self.command)

    def link(self) -> None:
        """Exchange the folder for a link."""
        self.folder.rename(self.aside)
        self.folder.symlink_to(self.home)

    def back(self) -> None:
        """Put the folder back in the place of the link."""
        self.folder.unlink()
        self.aside.rename(self.folder)

    def decoy(self, pause_s: float) -> None:
        """Exchange the link for a folder that looks like the other one, and that one for the original."""
        other = self.workspace / "decoy"
        other.mkdir()
        (other / ".env").write_text("decoy\n")
        self.folder.unlink()
        other.rename(self.folder)
        time.sleep(pause_s)
        self.folder.rename(other)
        self.aside.rename(self.folder)
        shutil.rmtree(other)

    def repair(self) -> None:
        """Put the folder back in the place of anything else."""
        shutil.rmtree(self.workspace / "decoy", ignore_errors=True)
        while self.aside.exists():
            with contextlib.suppress(OSError):
                self.folder.unlink()
            shutil.rmtree(self.folder, ignore_errors=True)
            with contextlib.suppress(OSError):
                self.aside.rename(self.folder)

    def escaped(self, output: bytes) -> bool:
        """Return whether a command with this output got out."""
        planted = self.home / "planted"
        out = SECRET.encode() in output or planted.exists()
        planted.unlink(missing_ok=True)
        return out


def start_unchecked(prepared: Prepared) -> CommandTree:
    """Start a command without looking at its mounts."""
    return CommandTree(prepared.argv, prepared.cwd, prepared.env, inherited=prepared.pass_fds, held=prepared.held)


def output_of(tree: CommandTree) -> bytes:
    """Wait for a command's end; returns what it wrote."""
    output = b""
    while data := os.read(tree.output, 1 << 16):
        output += data
    tree.close()
    return output


@contextlib.contextmanager
def attacked(place: Place, seed: int) -> Iterator[None]:
    """Exchange the folder again and again, as a background command could."""
    stop = threading.Event()
    attacker = threading.Thread(target=_exchange, args=(place, random.Random(seed), stop))
    attacker.start()
    try:
        yield
    finally:
        stop.set()
        attacker.join()


def _exchange(place: Place, chance: random.Random, stop: threading.Event) -> None:
    while not stop.wait(chance.uniform(0, PAUSE_S)):
        try:
            place.link()
            stop.wait(chance.uniform(0, PAUSE_S))
            if chance.random() < 0.5:
                place.back()
            else:
                place.decoy(chance.uniform(0, PAUSE_S))
        except OSError:
            # bubblewrap made the folder, as a place for its mount, while it was missing.
            place.repair()
        place.exchanges += 1


def run(place: Place, commands: int, *, checked: bool = True) -> Counter[str]:
    """Start commands one after the other; returns how many ran, were refused, failed or escaped."""
    seen: Counter[str] = Counter()
    for _ in range(commands):
        try:
            with place.prepare() as prepared:
                output = output_of(prepared.start() if checked else start_unchecked(prepared))
            seen["ran" if b"ran" in output else "failed"] += 1
            seen["escaped"] += place.escaped(output)
        except (SandboxError, OSError):
            seen["refused"] += 1
    return seen


def main() -> None:
    """Run the commands of the command line."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("count", type=int)
    arguments.add_argument("--unchecked", action="store_true")
    arguments.add_argument("--quiet", action="store_true")
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    base = Path(tempfile.mkdtemp(prefix="exchanges-", dir=outside_tmp()))
    try:
        place = Place(base)
        enter(base)
        began = time.perf_counter()
        with contextlib.nullcontext() if given.quiet else attacked(place, given.seed):
            seen: Counter[str] = Counter()
            while (place.exchanges if not given.quiet else seen.total()) < given.count:
                seen += run(place, 1, checked=not given.unchecked)
        print(f"{place.exchanges} exchanges, {dict(seen)}, {time.perf_counter() - began:.0f} s")
    finally:
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
