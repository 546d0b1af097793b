"""`laguna-tui setup gpu`: arguments, confirmation, exit codes and output."""

import argparse
import shlex
import sys
from pathlib import Path

from filelock import FileLock, Timeout

from laguna_tui.base.errors import UserError
from laguna_tui.base.exit_codes import ExitCode
from laguna_tui.base.network import Network
from laguna_tui.base.paths import state_dir
from laguna_tui.base.progress import ProgressLine
from laguna_tui.base.settings import load_settings
from laguna_tui.base.text import sanitize
from laguna_tui.cli.arguments import add_commands, add_offline, add_yes
from laguna_tui.cli.console import confirmed, say, warn
from laguna_tui.machine.doctor.gpus import Graphics, card_names, detect_graphics
from laguna_tui.machine.doctor.host import Host
from laguna_tui.machine.doctor.llama_build import probe_llama
from laguna_tui.machine.setup_gpu.builds import (
    INDEX,
    build_command,
    build_needs,
    choose_builds,
    missing_packages,
    named_builds,
)
from laguna_tui.machine.setup_gpu.installer import RUNNING, BuildOffer, Installer, without_credentials
from laguna_tui.machine.setup_gpu.pip import NEED, Pip, PythonEnvironment, SetupFailed
from laguna_tui.machine.setup_gpu.rollback import Rollback
from laguna_tui.machine.setup_gpu.trial import try_nano


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `setup gpu`."""
    what = add_commands(parser, "what to set up", "what")
    gpu = what.add_parser(
        "gpu",
        help="install the llama.cpp that can use the graphics card",
        description="Install what llama.cpp needs to use this machine's graphics card into the environment of"
        " laguna-tui: a plug-in for the card, or the prebuilt wheel that fits the driver. It is tested with the bundled"
        " model first; the previous build is restored if anything fails.",
        epilog="exit codes: 0 done, or nothing to do; 1 failed or declined, nothing changed; 2 not possible here",
    )
    add_yes(gpu)
    add_offline(gpu, "open no connection; only --rollback, --source and --wheels work then")
    gpu.add_argument("--index-url", metavar="URL", help="address of the package indexes (default: llama-cpp-python's)")
    gpu.add_argument("--wheels", metavar="DIR", type=Path, help="take the wheels from this folder, not the network")
    gpu.add_argument("--tag", metavar="TAG", help="build to install, whatever the driver: sm86, cu125, vulkan, …")
    instead = gpu.add_mutually_exclusive_group()
    instead.add_argument("--rollback", action="store_true", help="restore the previous build")
    instead.add_argument("--source", action="store_true", help="only print the command that builds it here")
    gpu.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Set up, roll back or print the command; returns the exit code."""
    host = Host()
    if arguments.source:
        cards = detect_graphics(host)
        sys.stderr.write(sanitize(f"Needs {build_needs(cards, host)}; takes ten minutes or more. Run:\n"))
        say([build_command(cards, host)])
        return 0
    environment = PythonEnvironment.of()
    environment.check()
    rollback = Rollback(state_dir(), environment.prefix)
    network = Network(offline=load_settings().merged({"offline": arguments.offline}).offline)
    if arguments.wheels is not None and not arguments.wheels.is_dir():
        raise UserError(f"--wheels {arguments.wheels}: not a folder; give the folder with the wheels")
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
        raise UserError(RUNNING) from error
    except OSError as error:
        raise UserError(f"{rollback.folder}: {error.strerror}; see: laguna-tui doctor") from error
    except SetupFailed as error:
        _show("")
        warn(str(error))
        return ExitCode.FAILED


def _set_up(arguments: argparse.Namespace, installer: Installer, host: Host) -> int:
    # Checked before the cards are detected and the question is asked.
    if arguments.wheels is None:
        installer.pip.network.require(NEED)
    if arguments.tag is None and (gpus := probe_llama(host).gpus):
        names = ", ".join(gpu.name for gpu in gpus)
        _say(f"llama.cpp already computes on {names}; to install another build, name it with --tag.")
        return 0
    cards = detect_graphics(host)
    builds = choose_builds(cards, host) if arguments.tag is None else named_builds(arguments.tag)
    offers = [BuildOffer(build, missing_packages(build, host)) for build in builds]
    base = arguments.index_url or INDEX
    for line in _plan(installer, base, offers, cards):
        _say(line)
    if not _may_continue(ask=not arguments.yes):
        return ExitCode.FAILED
    trial = installer.set_up(base, offers)
    _show("")
    speed = f"{trial.tokens} tokens in {trial.seconds:.1f} s"
    _say(f"Done. llama.cpp computes on {', '.join(trial.gpus)}; the bundled model generated {speed}.")
    _say("To restore the previous build: laguna-tui setup gpu --rollback")
    return 0


def _plan(installer: Installer, base: str, offers: list[BuildOffer], cards: Graphics) -> list[str]:
    """Return what will run, word for word, without the credentials in addresses."""
    first, *others = offers
    pip = installer.pip
    commands = [pip.fetch_command(without_credentials(base), first.build)]
    commands += [pip.runtime_command(first.packages)] if first.packages else []
    driver = f", driver {cards.driver}" if cards.driver else ""
    next_tags = ", ".join(offer.build.name for offer in others)
    names = card_names(cards.worth_using) or "No card"
    return [
        f"{names}{driver}: the build for {first.build.title} ({first.build.name}).",
        *([f"If its index does not have this version, the next is tried: {next_tags}."] if others else []),
        f"This will run, in {installer.environment.prefix}:",
        *(f"  {shlex.join(command)}" for command in commands),
        "Then the bundled model is tried with the downloaded build, beside the installed one. If it works on the GPU:",
        f"  {shlex.join(pip.install_command())}",
        "The installed build is kept, and restored if anything fails.",
    ]


def _roll_back(installer: Installer, *, recovered: bool, ask: bool) -> int:
    record = installer.rollback.last()
    if not recovered:
        if record is None:
            raise UserError("there is nothing to roll back: no build was replaced in this environment")
        if record.plugin:
            _say(f"This uninstalls the plug-in {record.tag}; llama.cpp stays:")
        else:
            previous = f"{record.previous} from {record.folder}" if record.paths else "nothing: none was installed"
            _say(f"This uninstalls the {record.tag} build and restores {previous}:")
        _say(f"  {shlex.join(installer.pip.remove_command(record.added))}")
        if not _may_continue(ask=ask):
            return ExitCode.FAILED
        installer.roll_back(record)
    _show("")
    _say("Done.")
    return 0


def _may_continue(*, ask: bool) -> bool:
    """Whether the user agrees, asked or by `--yes`."""
    if not ask or confirmed("Continue?"):
        return True
    _say("Nothing was changed.")
    return False


def _say(text: str) -> None:
    _show("")
    say([text])


def _show(text: str) -> None:
    """Show a line on the terminal that the next one overwrites."""
    ProgressLine().show(text)
