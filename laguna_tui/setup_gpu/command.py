"""`laguna-tui setup gpu`: arguments, the question, exit codes, and where words go."""

import argparse
import shlex
import sys
from typing import TYPE_CHECKING

from laguna_tui.arguments import add_commands, add_offline
from laguna_tui.base.progress import ProgressLine
from laguna_tui.errors import UserError
from laguna_tui.text import sanitize

if TYPE_CHECKING:
    from laguna_tui.doctor.graphics import Graphics
    from laguna_tui.doctor.machine import Machine
    from laguna_tui.setup_gpu.exchange import Exchange, Offer
    from laguna_tui.setup_gpu.tags import Tag

FAILED = 1
_WIDTH = 78

_DESCRIPTION = """\
Install the llama.cpp that can use this machine's graphics card: the prebuilt wheel that fits the driver, into the
environment that laguna-tui runs in. It is tried with the bundled model before it counts; what was installed before is
kept, and comes back by itself when anything fails.
"""
_EPILOG = """\
exit codes: 0 done, or nothing to do; 1 failed or declined, and everything is as it was; 2 it cannot be done here
"""


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `setup gpu` to the command line."""
    setup = commands.add_parser("setup", help="make use of this machine's graphics card")
    what = add_commands(setup, "what to set up", "what")
    parser = what.add_parser(
        "gpu",
        help="install the llama.cpp that can use the graphics card",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--yes", action="store_true", help="do not ask first")
    add_offline(parser, "open no connection; only --rollback and --source work then")
    parser.add_argument("--index-url", metavar="URL", help="where the indexes lie (default: llama-cpp-python's own)")
    parser.add_argument("--tag", metavar="TAG", help="take this build, whatever the driver says: cu125, vulkan, …")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--rollback", action="store_true", help="bring back the build before")
    instead.add_argument("--source", action="store_true", help="only print the command that builds it here")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Do as asked; returns the exit code."""
    from laguna_tui.doctor.graphics import graphics
    from laguna_tui.doctor.machine import Machine

    machine = Machine()
    if arguments.source:
        return _source(graphics(machine), machine)
    return _exchange(arguments, machine)


def _source(cards: "Graphics", machine: "Machine") -> int:
    from laguna_tui.setup_gpu.source import build_command, build_needs

    sys.stderr.write(sanitize(f"Needs {build_needs(cards, machine)}; takes ten minutes or more. Run:\n"))
    sys.stdout.write(sanitize(build_command(cards, machine.python)) + "\n")
    return 0


def _exchange(arguments: argparse.Namespace, machine: "Machine") -> int:
    from filelock import FileLock, Timeout

    from laguna_tui.network import Network
    from laguna_tui.settings import load_settings, state_dir
    from laguna_tui.setup_gpu.environment import Environment
    from laguna_tui.setup_gpu.exchange import Exchange
    from laguna_tui.setup_gpu.faults import SetupFailed
    from laguna_tui.setup_gpu.kept import Kept
    from laguna_tui.setup_gpu.pip import Pip
    from laguna_tui.setup_gpu.trial import try_nano

    environment = Environment.of()
    environment.check()
    kept = Kept(state_dir(), environment.prefix)
    network = Network(offline=load_settings().merged({"offline": arguments.offline}).offline)
    exchange = Exchange(environment, kept, Pip(environment, kept.work, network), try_nano, _say, _show)
    try:
        kept.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with FileLock(kept.folder / "lock", timeout=0):
            recovered = exchange.recover()
            if arguments.rollback:
                return _roll_back(exchange, recovered=recovered, ask=not arguments.yes)
            return _set_up(arguments, exchange, machine)
    except Timeout as error:
        raise UserError("another laguna-tui setup is at work in this environment; wait for it to end") from error
    except OSError as error:
        raise UserError(f"{kept.folder}: {error.strerror}; see: laguna-tui doctor") from error
    except SetupFailed as error:
        _show("")
        sys.stderr.write(sanitize(f"laguna-tui: {error}\n"))
        return FAILED


def _set_up(arguments: argparse.Namespace, exchange: "Exchange", machine: "Machine") -> int:
    from laguna_tui.doctor.graphics import graphics
    from laguna_tui.doctor.library import loaded
    from laguna_tui.setup_gpu.pip import NEED
    from laguna_tui.setup_gpu.tags import INDEX

    # Said before the card is looked for and the question is asked, not after.
    exchange.pip.network.require(NEED)
    if arguments.tag is None and (gpus := loaded(machine).gpus):
        names = ", ".join(gpu.name for gpu in gpus)
        _say(f"llama.cpp computes on {names} already; to take another build, name it with --tag.")
        return 0
    cards = graphics(machine)
    offers = _offers(arguments.tag, cards, machine)
    base = arguments.index_url or INDEX
    for line in _plan(exchange, base, offers, cards):
        _say(line)
    if not _agreed(ask=not arguments.yes):
        return FAILED
    trial = exchange.set_up(base, offers)
    _show("")
    speed = f"{trial.tokens} tokens in {trial.seconds:.1f} s"
    _say(f"Done. llama.cpp computes on {', '.join(trial.gpus)}; the bundled model wrote {speed}.")
    _say("To go back: laguna-tui setup gpu --rollback")
    return 0


def _offers(name: str | None, cards: "Graphics", machine: "Machine") -> "list[Offer]":
    from laguna_tui.setup_gpu.exchange import Offer
    from laguna_tui.setup_gpu.runtime import lacking
    from laguna_tui.setup_gpu.tags import TAGS, choose

    if name is None:
        tags: tuple[Tag, ...] = choose(cards, machine)
    elif name in TAGS:
        tags = (TAGS[name],)
    else:
        raise UserError(f"--tag {name}: it must be one of {', '.join(TAGS)}")
    return [Offer(tag, lacking(tag, machine)) for tag in tags]


def _plan(exchange: "Exchange", base: str, offers: "list[Offer]", cards: "Graphics") -> list[str]:
    """What will run, word for word; credentials in an address left out."""
    from laguna_tui.doctor.graphics import named
    from laguna_tui.setup_gpu.exchange import shown

    first, *others = offers
    pip = exchange.pip
    commands = [pip.fetch_command(shown(base), first.tag)]
    commands += [pip.runtime_command(first.packages)] if first.packages else []
    fetching = [f"  {shlex.join(command)}" for command in commands]
    driver = f", driver {cards.driver}" if cards.driver else ""
    alternatives = f"If its index lacks this version, the next: {', '.join(offer.tag.name for offer in others)}."
    return [
        f"{named(cards.worth_using) or 'No card'}{driver}: the build for {first.tag.title} ({first.tag.name}).",
        *([alternatives] if others else []),
        f"This will run, in {exchange.environment.prefix}:",
        *fetching,
        "then the bundled model is tried with what was fetched, beside what is installed; when it works on the GPU:",
        f"  {shlex.join(pip.install_command())}",
        "What is installed now is kept, and comes back when anything fails.",
    ]


def _roll_back(exchange: "Exchange", *, recovered: bool, ask: bool) -> int:
    record = exchange.kept.way_back()
    if recovered:
        _show("")
        _say("Done.")
        return 0
    if record is None:
        raise UserError("there is nothing to go back to: no build was exchanged in this environment")
    _say(f"This takes the {record.tag} build out and brings back {record.wheel or 'nothing: none was there'}:")
    _say(f"  {shlex.join(exchange.pip.put_back_command(exchange.kept.before(record)))}")
    if not _agreed(ask=ask):
        return FAILED
    exchange.roll_back(record)
    _show("")
    _say("Done.")
    return 0


def _agreed(*, ask: bool) -> bool:
    if not ask:
        return True
    if not sys.stdin.isatty():
        raise UserError("there is nobody to ask; say --yes to go on without")
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
    """A line on the terminal that the next one overwrites."""
    ProgressLine().show(text)
