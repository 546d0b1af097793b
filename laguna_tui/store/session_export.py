"""Exports a session or a chat as Markdown, HTML or JSON. Secrets are redacted in every form.

Markdown and HTML are for people: what a terminal or a browser would obey is neutralized, and the HTML has no scripts
and loads nothing. JSON is exact, except for the secrets, and plain ASCII.
"""

import html
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

from laguna_tui.base.redact import redact
from laguna_tui.base.text import sanitize, sanitize_line
from laguna_tui.store.transcript_parts import PartKind, SessionTranscript, TranscriptPart

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_STYLE = """\
:root { color-scheme: light dark; }
body { max-width: 50rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
pre { overflow-x: auto; padding: .6rem; border: 1px solid #8886; border-radius: .3rem; }
.message, .notice { white-space: pre-wrap; }
.message { border-left: .25rem solid #c80; padding-left: .8rem; }
.notice, .about, summary { color: #888; }
.added { color: #2a2; } .removed { color: #d33; }
"""
# Even if something slipped through, it could load and run nothing.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


class ExportForm(StrEnum):
    """The forms of an export."""

    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"

    @property
    def suffix(self) -> str:
        """The ending of a file's name."""
        return {ExportForm.MARKDOWN: ".md", ExportForm.HTML: ".html", ExportForm.JSON: ".json"}[self]


def exported(transcript: SessionTranscript, form: ExportForm) -> str:
    """Return the whole transcript in a form, without secrets."""
    writers = {ExportForm.MARKDOWN: to_markdown, ExportForm.HTML: to_html, ExportForm.JSON: to_json}
    return writers[form](transcript)


def to_markdown(transcript: SessionTranscript) -> str:
    """Return the transcript as Markdown."""
    blocks = [f"# {_escaped(sanitize_line(redact(transcript.title)))}"]
    if transcript.session:
        blocks.append(_escaped(sanitize_line(_about(transcript))))
    for part in map(_clean, transcript.parts):
        block = _markdown(part)
        blocks[-1:] = [f"{blocks[-1]}\n{block}"] if part.is_tight else [blocks[-1], block]
    return "\n\n".join(blocks) + "\n"


def to_html(transcript: SessionTranscript) -> str:
    """Return the transcript as one HTML file."""
    title = html.escape(sanitize_line(redact(transcript.title)))
    about = f'<p class="about">{html.escape(sanitize_line(_about(transcript)))}</p>\n' if transcript.session else ""
    body = "\n".join(_html(_clean(part)) for part in transcript.parts)
    return (
        '<!doctype html>\n<html>\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{title}</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{about}{body}\n"
        "</body>\n</html>\n"
    )


def to_json(transcript: SessionTranscript) -> str:
    """Return the transcript as JSON: an object with the fields of `SessionTranscript`."""
    parts = [asdict(replace(part, text=redact(part.text), title=redact(part.title))) for part in transcript.parts]
    for part in parts:
        del part["is_tight"]
    value = {
        "title": redact(transcript.title),
        "id": transcript.session,
        "folder": transcript.about,
        "model": transcript.model,
        "created": transcript.created,
        "parts": parts,
    }
    return json.dumps(value, indent=1) + "\n"


def _clean(part: TranscriptPart) -> TranscriptPart:
    """Return a part without secrets and what a terminal would obey. A diff keeps its tabs, a line does not."""
    title = redact(part.title)
    title = sanitize(title) if title.startswith("$ ") else sanitize_line(title)
    return replace(part, text=sanitize(redact(part.text)), title=title)


def _about(transcript: SessionTranscript) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(transcript.created))
    return ", ".join(filter(None, (when, transcript.model, transcript.about, transcript.session)))


def _markdown(part: TranscriptPart) -> str:
    match part.kind:
        case PartKind.MESSAGE:
            return "\n".join(f"> {line}" for line in part.text.split("\n"))
        case PartKind.CALL | PartKind.THINKING:
            summary = " ".join((part.title or part.kind).split())
            return (
                f"<details><summary><code>{_escaped(summary)}</code></summary>\n\n{_fenced(_body(part))}\n\n</details>"
            )
        case PartKind.CHANGE:
            return _fenced(part.text, "diff")
    return part.text


def _body(part: TranscriptPart) -> str:
    """Return the output of a call, after a command of several lines, of which the title shows only one."""
    return f"{part.title}\n{part.text}" if "\n" in part.title else part.text


def _fenced(text: str, language: str = "") -> str:
    """Return the text in a fence longer than any in it."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _html(part: TranscriptPart) -> str:
    text = html.escape(part.text)
    match part.kind:
        case PartKind.ANSWER:
            return f'<div class="answer">\n{_renderer().render(part.text)}</div>'
        case PartKind.CALL | PartKind.THINKING:
            summary = html.escape(" ".join((part.title or part.kind).split()))
            body = html.escape(_body(part))
            return f"<details><summary><code>{summary}</code></summary><pre>{body}</pre></details>"
        case PartKind.CHANGE:
            lines = "\n".join(_diff_lines(part.text))
            return (
                f"<details open><summary><code>{html.escape(part.title)}</code></summary><pre>{lines}</pre></details>"
            )
        case PartKind.TODO:
            return f"<pre>{text}</pre>"
    return f'<p class="{part.kind}">{text}</p>'


def _diff_lines(text: str) -> Iterator[str]:
    kinds = {"+": "added", "-": "removed"}
    for line in text.split("\n"):
        kind = kinds.get(line[:1])
        yield f'<span class="{kind}">{html.escape(line)}</span>' if kind else html.escape(line)


@cache
def _renderer() -> "MarkdownIt":
    """Return a renderer of answers: it shows HTML as text and images as links, and links only to web pages."""
    from markdown_it import MarkdownIt

    renderer = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    renderer.validateLink = lambda url: url.lower().startswith(("https://", "http://"))  # type: ignore[method-assign]
    return renderer
