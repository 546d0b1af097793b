"""The flows of a Markdown block: a block becomes flows once, flows become lines once per width."""

from dataclasses import dataclass

from laguna_tui.tui.text_lines import TextRuns


@dataclass(frozen=True, slots=True)
class Indent:
    """What stands before a flow: `first` before its first row (a bullet), `rest` before the others."""

    first: TextRuns = ()
    rest: TextRuns = ()


@dataclass(frozen=True, slots=True)
class ProseFlow:
    """Wrapped text. `gap`: a blank row comes before it."""

    runs: TextRuns
    indent: Indent = Indent()
    gap: bool = True


@dataclass(frozen=True, slots=True)
class CodeFlow:
    """Lines of code, highlighted, folded rather than wrapped."""

    lines: tuple[TextRuns, ...]
    language: str = ""
    indent: Indent = Indent()
    gap: bool = True


@dataclass(frozen=True, slots=True)
class TableFlow:
    """A table; `align` holds "left", "right" or "center" for each column, and every row has as many cells."""

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
