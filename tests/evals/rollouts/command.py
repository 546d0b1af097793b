"""`python -m tests.evals rollouts`: many answers to many prompts, each with a reward."""

import argparse
import math
import sys
from pathlib import Path

from laguna_engine.errors import EngineError
from laguna_tui.base.errors import UserError
from laguna_tui.base.progress import ProgressLine
from laguna_tui.base.settings import load_settings
from laguna_tui.base.text import sanitize
from laguna_tui.cli.arguments import whole_number
from laguna_tui.cli.console import say
from laguna_tui.cli.session_options import add_setting_options, chosen_settings
from tests.evals.rollouts.rollout import Rollout
from tests.evals.rollouts.rollout_run import RolloutRun
from tests.evals.rollouts.rollout_table import rollout_report
from tests.evals.rollouts.verifier import Verifier, read_prompts, task_prompts

_EPILOG = """\
Without --out nothing is kept. With it, Ctrl-C and any other end lose no rollout: the same command resumes.
The verifier finds the answer on stdin and in answer.txt, and the prompt's line in prompt.json. It ends with 0 for a \
reward of 1, or for the X of a last line `reward X`; else, or where X is not a finite number, the reward is 0.
exit codes: 0 run to the end, 2 wrong usage or a model that cannot be opened, 4 the model failed, 130 interrupted
"""
_FAILED = 4
_MOST = 1_000_000
_MOST_AT_ONCE, _MOST_RETRIES = 1024, 100
_HOTTEST = 5.0
_GO_ON = "the rollouts so far are in {file}; the same command resumes with what is missing"


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `rollouts` to the command line."""
    parser = commands.add_parser(
        "rollouts",
        help="sample many answers to many prompts, with rewards",
        description="Sample several answers to each prompt, from an OpenAI-compatible endpoint or the model in this"
        " process, give each a reward by running a verifier in the sandbox, and say what temperature and the size of"
        " the group cost.",
        epilog=_EPILOG,
    )
    asked = parser.add_mutually_exclusive_group()
    asked.add_argument("--prompts", type=Path, metavar="FILE", help='JSON lines, each with a "prompt"')
    asked.add_argument(
        "--task",
        dest="tasks",
        action="append",
        metavar="NAME",
        default=[],
        help="a function of `laguna-tui eval`, which verifies it; may be given several times (default: all of them)",
    )
    parser.add_argument(
        "--samples", type=_sizes, metavar="K[,K]", default=[1], help="rollouts of each prompt, by group (default: 1)"
    )
    parser.add_argument(
        "--temperatures", type=_temperatures, metavar="T[,T]", default=[], help="a group for each of these as well"
    )
    parser.add_argument("--verify", metavar="COMMAND", default="", help="gives answers to --prompts their reward")
    parser.add_argument(
        "--verify-file",
        dest="verify_files",
        type=Path,
        action="append",
        metavar="FILE",
        default=[],
        help="stands beside the answer for --verify; may be given several times",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="keep every rollout in this file, and resume from it")
    parser.add_argument(
        "--concurrency",
        type=whole_number(1, _MOST_AT_ONCE),
        metavar="N",
        default=16,
        help="rollouts at a time at an endpoint; a model in this process makes one at a time (default: 16)",
    )
    parser.add_argument(
        "--retries",
        type=whole_number(0, _MOST_RETRIES),
        metavar="N",
        default=6,
        help="send a request again so often, after longer and longer pauses (default: 6)",
    )
    parser.add_argument(
        "--timeout",
        type=whole_number(1, _MOST),
        metavar="SECONDS",
        default=1800,
        help="stop an answer after this long (default: 1800)",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    add_setting_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Make the rollouts and report; returns the exit code."""
    chosen = _chosen(arguments)
    rollouts: list[Rollout] = []
    code = 0
    out = None if arguments.out is None else arguments.out.expanduser()
    try:
        with ProgressLine(quiet=arguments.quiet) as progress:
            for rollout in chosen.run(out, lambda done, total: progress.show(f"{done:,} of {total:,}")):
                rollouts.append(rollout)  # noqa: PERF402 (what there is stays when it is interrupted)
    except KeyboardInterrupt:
        code = 130
    except EngineError as error:
        sys.stderr.write(f"{sanitize(str(error))}\n")
        code = _FAILED
    if rollouts:
        say(rollout_report(chosen.facts, chosen.groups, rollouts).splitlines())
    if code and out is not None:
        sys.stderr.write(f"{_GO_ON.format(file=sanitize(str(out)))}\n")
    return code


def _chosen(arguments: argparse.Namespace) -> RolloutRun:
    if arguments.prompts is None and arguments.verify:
        raise UserError("--verify is for --prompts FILE; a task has its own check")
    if arguments.verify_files and not arguments.verify:
        raise UserError("--verify-file is for --verify COMMAND; give the command too")
    return RolloutRun.chosen(
        load_settings().merged(chosen_settings(arguments)),
        task_prompts(arguments.tasks) if arguments.prompts is None else read_prompts(arguments.prompts.expanduser()),
        arguments.temperatures,
        arguments.samples,
        Verifier.chosen(arguments.verify, arguments.verify_files),
        concurrency=arguments.concurrency,
        retries=arguments.retries,
        limit_s=float(arguments.timeout),
    )


def _sizes(text: str) -> list[int]:
    return [whole_number(1, _MOST)(each) for each in text.split(",")]


def _temperatures(text: str) -> list[float]:
    """Temperatures; the error is one that argparse shows."""
    try:
        found = [float(each) for each in text.split(",")]
    except ValueError:
        found = [math.nan]
    if not all(0 <= each <= _HOTTEST for each in found):
        raise argparse.ArgumentTypeError(f"it must be numbers from 0 to {_HOTTEST:g}, with commas between them")
    return found
