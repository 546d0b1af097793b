"""Evaluations for whoever trains or compares models: `python -m tests.evals eval|nano-questions|rollouts`."""

import signal
import sys
from collections.abc import Sequence

from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize
from laguna_tui.cli.arguments import SuggestingParser, add_commands
from tests.evals import measured_eval
from tests.evals.nano_questions import command as nano_questions
from tests.evals.rollouts import command as rollouts


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    parser = SuggestingParser(prog="python -m tests.evals", description=__doc__)
    commands = add_commands(parser, "commands", "command")
    measured_eval.add_command(commands)
    nano_questions.add_command(commands)
    rollouts.add_command(commands)
    arguments = parser.parse(sys.argv[1:] if argv is None else argv)
    try:
        code: int = arguments.run(arguments)
    except UserError as error:
        sys.stderr.write(f"{sanitize(str(error))}\n")
        code = 2
    except KeyboardInterrupt:
        code = 130
    return code


if __name__ == "__main__":
    # The end removes temporary folders and stops child processes.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    sys.exit(main())
