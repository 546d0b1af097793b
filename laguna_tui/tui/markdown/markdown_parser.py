"""Converts Markdown to flows, with markdown-it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token

from laguna_tui.tui.markdown.flow import CodeFlow, Flow, Flows, Indent, ProseFlow, RuleFlow, TableFlow
from laguna_tui.tui.markdown.highlight import highlight, language_of
from laguna_tui.tui.text_lines import TextRun, TextRuns

_TONES = {"strong": "strong", "em": "em", "s": "strike"}


def inline_runs(tokens: Sequence[Token], tone: str = "text") -> TextRuns:
    """Return the runs of an inline token's children; the address of a link follows it, unless it is its text."""
    runs: list[TextRun] = []
    tones = [tone]
    links: list[tuple[str, int]] = []
    for token in tokens:
        name = token.type.removesuffix("_open").removesuffix("_close")
        if name in _TONES:
            _nest(tones, _TONES[name], token.nesting)
        elif name == "link" and token.nesting == 1:
            links.append((str(token.attrs.get("href", "")), len(runs)))
            _nest(tones, "link", 1)
        elif name == "link":
            _nest(tones, "link", -1)
            runs.extend(_address(runs, *links.pop(), tones[-1]))
        else:
            runs.append(_leaf(token, tones[-1]))
    return tuple(run for run in runs if run.text)


def _nest(tones: list[str], word: str, nesting: int) -> None:
    if nesting == 1:
        tones.append(f"{tones[-1]} {word}")
    else:
        tones.pop()


def _leaf(token: Token, tone: str) -> TextRun:
    match token.type:
        case "softbreak" | "hardbreak":
            # A chat's lines are meant as lines: a model does not wrap its text.
            return TextRun("\n", tone)
        case "code_inline":
            return TextRun(token.content, f"{tone} inline-code")
        case "image":
            return TextRun(f"[image: {token.content or token.attrs.get('src', '')}]", f"{tone} muted")
        case _:
            return TextRun(token.content, tone)


def _address(runs: Sequence[TextRun], href: str, start: int, tone: str) -> TextRuns:
    shown = "".join(run.text for run in runs[start:])
    if not href or href.removeprefix("mailto:").rstrip("/") == shown.rstrip("/"):
        return ()
    return (TextRun(f" ({href})", f"{tone} muted"),)


BULLETS = "•◦▪"
_QUOTE = TextRun("▎ ", "quote-bar")


def _parser() -> MarkdownIt:
    """CommonMark with tables and strikethrough; HTML is shown as text.

    Entities are not decoded: `&#x202e;` would bring back what the sanitiser removed.
    """
    parser = MarkdownIt("commonmark", {"html": False})
    return parser.enable(["table", "strikethrough"]).disable("entity")


_PARSER = _parser()


def to_flows(source: str) -> Flows:
    """Return the flows of a Markdown block."""
    builder = _Builder()
    for token in _PARSER.parse(source):
        builder.take(token)
    return tuple(builder.flows)


@dataclass(slots=True)
class _Lead:
    """The indent of a list item or quote; `first` is used once, for its first row."""

    first: TextRun
    rest: TextRun
    used: bool = False

    def next(self) -> TextRun:
        run = self.rest if self.used else self.first
        self.used = True
        return run


@dataclass(slots=True)
class _Builder:
    flows: list[Flow] = field(default_factory=list)
    leads: list[_Lead] = field(default_factory=list)
    lists: list[bool] = field(default_factory=list)  # for each open list, whether it is ordered
    tones: list[str] = field(default_factory=lambda: ["text"])
    tight: bool = False
    cells: list[list[TextRuns]] = field(default_factory=list)
    align: list[str] = field(default_factory=list)

    def take(self, token: Token) -> None:
        handler = getattr(self, f"_{token.type}", None)
        if handler is not None:
            handler(token)

    def _indent(self) -> Indent:
        first = tuple(lead.next() for lead in self.leads)
        return Indent(first, tuple(lead.rest for lead in self.leads))

    def _gap(self) -> bool:
        """Return whether a blank row precedes the next flow: not inside a tight list, nor right after a bullet."""
        return not self.tight and all(lead.used for lead in self.leads)

    def _paragraph_open(self, token: Token) -> None:
        self.tight = token.hidden

    def _paragraph_close(self, _token: Token) -> None:
        self.tight = self.tight and bool(self.lists)

    def _heading_open(self, token: Token) -> None:
        self.tones.append(f"heading heading-{token.tag}")

    def _heading_close(self, _token: Token) -> None:
        self.tones.pop()

    def _inline(self, token: Token) -> None:
        runs = inline_runs(token.children or (), self.tones[-1])
        if self.cells:
            self.cells[-1].append(runs)
        else:
            gap = self._gap()
            self.flows.append(ProseFlow(runs, self._indent(), gap))

    def _fence(self, token: Token) -> None:
        self._code(token.content, language_of(token.info))

    def _code_block(self, token: Token) -> None:
        self._code(token.content, "")

    def _code(self, content: str, language: str) -> None:
        gap = self._gap()
        self.flows.append(CodeFlow(highlight(content.removesuffix("\n"), language), language, self._indent(), gap))

    def _hr(self, _token: Token) -> None:
        gap = self._gap()
        self.flows.append(RuleFlow(self._indent(), gap))

    def _bullet_list_open(self, _token: Token) -> None:
        self.lists.append(False)

    def _ordered_list_open(self, _token: Token) -> None:
        self.lists.append(True)

    def _list_close(self, _token: Token) -> None:
        self.lists.pop()
        self.tight = False

    _bullet_list_close = _list_close
    _ordered_list_close = _list_close

    def _list_item_open(self, token: Token) -> None:
        bullet = BULLETS[(self.lists.count(False) - 1) % len(BULLETS)]
        mark = f"{token.info}{token.markup} " if self.lists[-1] else f"{bullet} "
        self.leads.append(_Lead(TextRun(mark, "bullet"), TextRun(" " * len(mark), "text")))

    def _list_item_close(self, token: Token) -> None:
        if not self.leads[-1].used:
            self.flows.append(ProseFlow((), self._indent(), gap=False))
        self.leads.pop()

    def _blockquote_open(self, _token: Token) -> None:
        self.leads.append(_Lead(_QUOTE, _QUOTE))
        self.tones.append("quote")

    def _blockquote_close(self, _token: Token) -> None:
        self.leads.pop()
        self.tones.pop()

    def _tr_open(self, _token: Token) -> None:
        self.cells.append([])

    def _th_open(self, token: Token) -> None:
        style = str(token.attrs.get("style", ""))
        self.align.append(style.removeprefix("text-align:") or "left")

    def _table_close(self, _token: Token) -> None:
        head, *rows = (tuple(row) for row in self.cells)
        gap = self._gap()
        self.flows.append(TableFlow(head, tuple(rows), tuple(self.align), self._indent(), gap))
        self.cells, self.align = [], []
