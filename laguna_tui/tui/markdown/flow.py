"""The flows of a Markdown block: a block becomes flows once, flows become lines once per width."""

from dataclasses import dataclass

from laguna_tui.tui.text_lines import TextRuns


@dataclass(frozen=True, slots=True)
class Indent:
    """The prefix of a flow: `first` on its first row (a bullet), `rest` on the others."""

    first: TextRuns = ()
    rest: TextRuns = ()


@dataclass(frozen=True, slots=True)
class ProseFlow:
    """Wrapped text. `gap`: whether a blank row precedes it."""

    runs: TextRuns
    indent: Indent = Indent()
    gap: bool = True


@dataclass(frozen=True, slots=True)
class CodeFlow:
    """Highlighted lines of code, folded rather than wrapped."""

    lines: tuple[TextRuns, ...]
    language: str = ""
    indent: Indent = Indent()
    gap: bool = True


@dataclass(frozen=True, slots=True)
class TableFlow:
    """A table; `align` holds "left", "right" or "center" per column; every row has as many cells."""

    head: tuple[TextRuns, ...]
    rows: tuple[tuple[TextRuns, ...], ...]
    align: tuple[str, ...]
    indent: Indent = Indent()
    gap: bool = True


@dataclass(frozen=True, slots=True)
class RuleFlow:
    """A horizontal line."""

    indent: Indent = Indent()
    gap: bool = True


Flow = ProseFlow | CodeFlow | TableFlow | RuleFlow
Flows = tuple[Flow, ...]
