"""The exit codes of `laguna-tui`, for the command line, its help and the README."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of `laguna-tui`; 128 + n after signal n."""

    ANSWERED = 0
    FAILED = 1
    USAGE = 2
    MODEL = 3
    UNFINISHED = 4
    DENIED = 5
    INTERRUPTED = 130

    @property
    def meaning(self) -> str:
        """When `ask` exits with it."""
        return _MEANINGS[self]


_MEANINGS = {
    ExitCode.ANSWERED: "answered",
    ExitCode.FAILED: "the engine failed while answering",
    ExitCode.USAGE: "wrong usage, settings or rules",
    ExitCode.MODEL: "the model could not be opened",
    ExitCode.UNFINISHED: "no complete answer: a limit of context, tokens, steps or time, or the model got stuck",
    ExitCode.DENIED: "answered, but something was not permitted and nobody could be asked",
    ExitCode.INTERRUPTED: "interrupted",
}
