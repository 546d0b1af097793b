"""`laguna-tui setup gpu`: arguments, confirmation, exit codes and output."""

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.base.errors import UserError
from laguna_tui.base.progress import ProgressLine
from laguna_tui.base.text import sanitize
from laguna_tui.cli.arguments import add_commands, add_offline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from laguna_tui.machine.doctor.gpus import Graphics
    from laguna_tui.machine.doctor.host import Host
    from laguna_tui.machine.doctor.repairs import Repair
    from laguna_tui.machine.setup_gpu.installer import BuildOffer, Installer


FAILED = 1
_WIDTH = 78

_DESCRIPTION = """\
Install what llama.cpp needs to use this machine's graphics card, into the environment of laguna-tui: a plug-in for the
card, or the prebuilt wheel that fits the driver. It is tried with the bundled model before it counts; the previous
build is kept, and restored when anything fails.
"""
_EPILOG = """\
exit codes: 0 done, or nothing to do; 1 failed or declined, nothing changed; 2 not possible here
"""


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `setup gpu` to the command line."""
    setup = commands.add_parser("setup", help="use this machine's graphics card")
    what = add_commands(setup, "what to set up", "what")
    parser = what.add_parser(
        "gpu",
        help="install the llama.cpp that can use the graphics card",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    add_offline(parser, "open no connection; only --rollback and --source work then")
    parser.add_argument("--index-url", metavar="URL", help="address of the indexes (default: llama-cpp-python's)")
    parser.add_argument("--wheels", metavar="DIR", type=Path, help="take the wheels from this folder, not the network")
    parser.add_argument("--tag", metavar="TAG", help="build to install whatever the driver: sm86, cu125, vulkan, …")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--rollback", action="store_true", help="restore the previous build")
    instead.add_argument("--source", action="store_true", help="only print the command that builds it here")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Set up, roll back or print the command; returns the exit code."""
    from laguna_tui.machine.doctor.gpus import detect_graphics
    from laguna_tui.machine.doctor.host import Host

    host = Host()
    if arguments.source:
        return _source(detect_graphics(host), host)
    return _installer(arguments, host)


def _source(cards: "Graphics", host: "Host") -> int:
    from laguna_tui.machine.setup_gpu.builds import build_command, build_needs

    sys.stderr.write(sanitize(f"Needs {build_needs(cards, host)}; takes ten minutes or more. Run:\n"))
    sys.stdout.write(sanitize(build_command(cards, host)) + "\n")
    return 0


def _installer(arguments: argparse.Namespace, host: "Host") -> int:
    from filelock import FileLock, Timeout

    from laguna_tui.base.network import Network
    from laguna_tui.base.paths import state_dir
    from laguna_tui.base.settings import load_settings
    from laguna_tui.machine.setup_gpu.installer import Installer
    from laguna_tui.machine.setup_gpu.pip import Pip, PythonEnvironment, SetupFailed
    from laguna_tui.machine.setup_gpu.rollback import Rollback
    from laguna_tui.machine.setup_gpu.trial import try_nano

    environment = PythonEnvironment.of()
    environment.check()
    rollback = Rollback(state_dir(), environment.prefix)
    network = Network(offline=load_settings().merged({"offline": arguments.offline}).offline)
    if arguments.wheels is not None and not arguments.wheels.is_dir():
        raise UserError(f"--wheels {arguments.wheels}: it must be a folder with the wheels")
    folder = None if arguments.wheels is None else arguments.wheels.resolve()
    pip = Pip(environment, rollback.work, network, folder)
    installer = Installer(environment, rollback, pip, try_nano, _say, _show)
    try:
        rollback.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with FileLock(rollback.folder / "lock", timeout=0):
            recovered = installer.recover()
            if arguments.rollback:
                return _roll_back(installer, recovered=recovered, ask=not arguments.yes)
            return _set_up(arguments, installer, host)
    except Timeout as error:
        raise UserError("another laguna-tui setup is running in this environment; wait until it ends") from error
    except OSError as error:
        raise UserError(f"{rollback.folder}: {error.strerror}; see: laguna-tui doctor") from error
    except SetupFailed as error:
        _show("")
        sys.stderr.write(sanitize(f"laguna-tui: {error}\n"))
        return FAILED


def interrupted_setup() -> "Iterator[Repair]":
    """The restoring of the build before a setup that was cut off; nothing where there was none."""
    from filelock import FileLock, Timeout

    from laguna_tui.base.network import Network
    from laguna_tui.base.paths import state_dir
    from laguna_tui.machine.doctor.repairs import Repair
    from laguna_tui.machine.setup_gpu.installer import Installer
    from laguna_tui.machine.setup_gpu.pip import Pip, PythonEnvironment, SetupFailed
    from laguna_tui.machine.setup_gpu.rollback import Rollback
    from laguna_tui.machine.setup_gpu.trial import try_nano

    rollback = Rollback(state_dir(), sys.prefix)

    def restore() -> None:
        environment = PythonEnvironment.of()
        pip = Pip(environment, rollback.work, Network(offline=True))
        try:
            with FileLock(rollback.folder / "lock", timeout=0):
                Installer(environment, rollback, pip, try_nano, _silent, _silent).recover()
                rollback.clean()
        except Timeout as error:
            raise SetupFailed("another laguna-tui setup is running; wait until it ends") from error

    if rollback.pending() is not None:
        yield Repair("the build before a setup that was cut off is restored", restore)


def _silent(_text: str) -> None:
    """Say nothing."""


def _set_up(arguments: argparse.Namespace, installer: "Installer", host: "Host") -> int:
    from laguna_tui.machine.doctor.gpus import detect_graphics
    from laguna_tui.machine.doctor.llama_build import probe_llama
    from laguna_tui.machine.setup_gpu.builds import INDEX
    from laguna_tui.machine.setup_gpu.pip import NEED

    # Checked before the cards are detected and the question is asked.
    if arguments.wheels is None:
        installer.pip.network.require(NEED)
    if arguments.tag is None and (gpus := probe_llama(host).gpus):
        names = ", ".join(gpu.name for gpu in gpus)
        _say(f"llama.cpp already computes on {names}; to install another build, name it with --tag.")
        return 0
    cards = detect_graphics(host)
    offers = _offers(arguments.tag, cards, host)
    base = arguments.index_url or INDEX
    for line in _plan(installer, base, offers, cards):
        _say(line)
    if not _confirmed(ask=not arguments.yes):
        return FAILED
    trial = installer.set_up(base, offers)
    _show("")
    speed = f"{trial.tokens} tokens in {trial.seconds:.1f} s"
    _say(f"Done. llama.cpp computes on {', '.join(trial.gpus)}; the bundled model generated {speed}.")
    _say("To restore the previous build: laguna-tui setup gpu --rollback")
    return 0


def _offers(name: str | None, cards: "Graphics", host: "Host") -> "list[BuildOffer]":
    from laguna_tui.machine.setup_gpu.builds import choose_builds, missing_packages, named_builds
    from laguna_tui.machine.setup_gpu.installer import BuildOffer

    tags = choose_builds(cards, host) if name is None else named_builds(name)
    return [BuildOffer(tag, missing_packages(tag, host)) for tag in tags]


def _plan(installer: "Installer", base: str, offers: "list[BuildOffer]", cards: "Graphics") -> list[str]:
    """What will run, word for word, with credentials in addresses left out."""
    from laguna_tui.machine.doctor.gpus import card_names
    from laguna_tui.machine.setup_gpu.installer import without_credentials

    first, *others = offers
    pip = installer.pip
    commands = [pip.fetch_command(without_credentials(base), first.tag)]
    commands += [pip.runtime_command(first.packages)] if first.packages else []
    fetching = [f"  {shlex.join(command)}" for command in commands]
    driver = f", driver {cards.driver}" if cards.driver else ""
    alternatives = (
        f"If its index lacks this version, the next is tried: {', '.join(offer.tag.name for offer in others)}."
    )
    return [
        f"{card_names(cards.worth_using) or 'No card'}{driver}: the build for {first.tag.title} ({first.tag.name}).",
        *([alternatives] if others else []),
        f"This will run, in {installer.environment.prefix}:",
        *fetching,
        "then the bundled model is tried with the downloaded build, beside the installed one; if it works on the GPU:",
        f"  {shlex.join(pip.install_command())}",
        "The installed build is kept, and restored when anything fails.",
    ]


def _roll_back(installer: "Installer", *, recovered: bool, ask: bool) -> int:
    record = installer.rollback.last()
    if recovered:
        _show("")
        _say("Done.")
        return 0
    if record is None:
        raise UserError("there is nothing to roll back: no build was replaced in this environment")
    if record.plugin:
        _say(f"This uninstalls the plug-in {record.tag}; llama.cpp stays:")
    else:
        previous = f"{record.previous} from {record.folder}" if record.paths else "nothing: none was installed"
        _say(f"This uninstalls the {record.tag} build and restores {previous}:")
    _say(f"  {shlex.join(installer.pip.remove_command(record.added))}")
    if not _confirmed(ask=ask):
        return FAILED
    installer.roll_back(record)
    _show("")
    _say("Done.")
    return 0


def _confirmed(*, ask: bool) -> bool:
    if not ask:
        return True
    if not sys.stdin.isatty():
        raise UserError("stdin is not a terminal, so nobody can confirm; add --yes")
    sys.stdout.write("Go on? [y/N] ")
    sys.stdout.flush()
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    _say("Nothing was changed.")
    return False


def _say(text: str) -> None:
    _show("")
    sys.stdout.write(sanitize(text) + "\n")
    sys.stdout.flush()


def _show(text: str) -> None:
    """Show a line on the terminal that the next one overwrites."""
    ProgressLine().show(text)
