"""One closed Markdown block to flows, by markdown-it-py. The text was sanitised before it came here."""

from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token

from laguna_tui.tui.markdown.code import highlight, language_of
from laguna_tui.tui.markdown.flow import Code, Flow, Flows, Indent, Prose, Rule, Run, Runs, Table
from laguna_tui.tui.markdown.inline import inline_runs

BULLETS = "•◦▪"
_QUOTE = Run("▎ ", "quote-bar")


def _parser() -> MarkdownIt:
    """CommonMark with tables and strike-through, HTML shown as text.

    Entities stay as written: decoding them here would let `&#x202e;` bring back what the sanitiser took out.
    """
    parser = MarkdownIt("commonmark", {"html": False})
    return parser.enable(["table", "strikethrough"]).disable("entity")


_PARSER = _parser()


def convert(source: str) -> Flows:
    """The flows of a block of Markdown."""
    builder = _Builder()
    for token in _PARSER.parse(source):
        builder.take(token)
    return tuple(builder.flows)


@dataclass(slots=True)
class _Lead:
    """The indent of one list item or quote; `first` is used up by the first row inside it."""

    first: Run
    rest: Run
    used: bool = False

    def next(self) -> Run:
        run = self.rest if self.used else self.first
        self.used = True
        return run


@dataclass(slots=True)
class _Builder:
    flows: list[Flow] = field(default_factory=list)
    leads: list[_Lead] = field(default_factory=list)
    lists: list[bool] = field(default_factory=list)  # for each open list: is it ordered
    tones: list[str] = field(default_factory=lambda: ["text"])
    tight: bool = False
    cells: list[list[Runs]] = field(default_factory=list)
    align: list[str] = field(default_factory=list)

    def take(self, token: Token) -> None:
        handler = getattr(self, f"_{token.type}", None)
        if handler is not None:
            handler(token)

    def _indent(self) -> Indent:
        first = tuple(lead.next() for lead in self.leads)
        return Indent(first, tuple(lead.rest for lead in self.leads))

    def _gap(self) -> bool:
        """A blank row before the next flow: not inside a tight list, nor right after a bullet."""
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
            self.flows.append(Prose(runs, self._indent(), gap))

    def _fence(self, token: Token) -> None:
        self._code(token.content, language_of(token.info))

    def _code_block(self, token: Token) -> None:
        self._code(token.content, "")

    def _code(self, content: str, language: str) -> None:
        gap = self._gap()
        self.flows.append(Code(highlight(content.removesuffix("\n"), language), language, self._indent(), gap))

    def _hr(self, _token: Token) -> None:
        gap = self._gap()
        self.flows.append(Rule(self._indent(), gap))

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
        self.leads.append(_Lead(Run(mark, "bullet"), Run(" " * len(mark), "text")))

    def _list_item_close(self, token: Token) -> None:
        if not self.leads[-1].used:
            self.flows.append(Prose((), self._indent(), gap=False))
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
        self.flows.append(Table(head, tuple(rows), tuple(self.align), self._indent(), gap))
        self.cells, self.align = [], []
