"""Highlights code with pygments. Code that is too long or breaks its lexer is shown plain."""

import re
from functools import lru_cache

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Token, _TokenType
from pygments.util import ClassNotFound

from laguna_tui.tui.text_lines import TextRun, TextRuns, plain

# Highlighting this many characters blocks the screen for about 0.1 s, and some lexers take quadratic time on hostile
# text; longer code has no colours.
MAX_HIGHLIGHT = 20_000
_LANGUAGE = re.compile(r"[\w.+#-]{1,24}")
_TONES: dict[_TokenType, str] = {
    Token.Comment: "code-comment",
    Token.Keyword: "code-keyword",
    Token.Operator.Word: "code-keyword",
    Token.Literal.String: "code-string",
    Token.Literal.Number: "code-number",
    Token.Name.Function: "code-name",
    Token.Name.Class: "code-name",
    Token.Name.Tag: "code-name",
    Token.Name.Builtin: "code-builtin",
    Token.Name.Constant: "code-number",
    Token.Keyword.Constant: "code-number",
    Token.Name.Decorator: "code-builtin",
    Token.Name.Attribute: "code-builtin",
    Token.Generic.Deleted: "code-deleted",
    Token.Generic.Inserted: "code-inserted",
    Token.Generic.Heading: "code-name",
    Token.Generic.Subheading: "code-name",
    Token.Generic.Prompt: "code-comment",
}


def language_of(info: str) -> str:
    """Return the language named by a fence's info string, or an empty string."""
    found = _LANGUAGE.match(info.strip())
    return found.group() if found else ""


def highlight(code: str, language: str, limit: int = MAX_HIGHLIGHT) -> tuple[TextRuns, ...]:
    """Return the highlighted lines; plain if the language is unknown, the code is too long, or the lexer fails."""
    lexer = _lexer(language)
    lines = None if lexer is None or len(code) > limit else _lex(code, lexer)
    return lines or plain_lines(code)


def plain_lines(code: str) -> tuple[TextRuns, ...]:
    """Return the lines in one tone."""
    return tuple((TextRun(line, "code"),) for line in code.split("\n"))


@lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    if not language:
        return None
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def _lex(code: str, lexer: Lexer) -> tuple[TextRuns, ...] | None:
    lines: list[list[TextRun]] = [[]]
    try:
        for kind, text in lexer.get_tokens(code):
            tone = _tone(kind)
            head, *more = text.split("\n")
            lines[-1].append(TextRun(head, tone))
            lines.extend([TextRun(part, tone)] for part in more)
    except Exception:  # lexers are third-party code on untrusted text; a failure costs only the colours
        return None
    merged = tuple(_merge(line) for line in lines)
    return merged if [plain(line) for line in merged] == code.split("\n") else None


def _merge(line: list[TextRun]) -> TextRuns:
    out: list[TextRun] = []
    for run in line:
        if out and out[-1].tone == run.tone:
            out[-1] = TextRun(out[-1].text + run.text, run.tone)
        elif run.text:
            out.append(run)
    return tuple(out)


@lru_cache(maxsize=256)
def _tone(kind: _TokenType) -> str:
    while kind is not Token:
        if kind in _TONES:
            return f"code {_TONES[kind]}"
        kind = kind.parent or Token
    return "code"
