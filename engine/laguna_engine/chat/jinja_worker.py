"""Renders a model file's chat template, in a child process: a template is code from a stranger.

Jinja's immutable sandbox keeps it from Python's objects, but not from time and memory (nested ranges, doubled strings,
recursive macros). So each rendering has a limit of processor time, the process one of memory, and it can open nothing.
What ends it costs one rendering; the parent (`chat_template`) starts another.

Names and filters are those that transformers gives to templates.
"""

import json
import resource
import signal
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import NoReturn

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from laguna_engine.chat.chat_template import RENDER_S
from laguna_engine.native import child

MEMORY = 1 << 30
"""Bytes above what the process takes when it starts."""

_REASON_CHARS = 300

_WARM_UP = (
    "{% macro part(x) %}{{ x | trim | tojson }}{% endmacro %}{% for x in ['\\n'] %}{{ part(x) }}{% endfor %}"
    "{{ strftime_now('%d %b %Y') }}{{ raise_exception('?') }}"
)
"""Makes Jinja and Python import what they import late, errors included, before nothing can be opened any more."""


class _Generation(Extension):
    """`{% generation %}` marks what a model is trained on; here it only encloses its contents."""

    tags = {"generation"}  # noqa: RUF012 Jinja's own type

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def main() -> None:
    """Take the template as the first frame, and answer every later one."""
    child.serve(_Rendering().answer)


class _Environment(ImmutableSandboxedEnvironment):
    """Jinja's immutable sandbox, in which lists grow and shrink: two of Kimi K2's templates need that.

    The lists are this process's own copies of a conversation, and new for each rendering.
    """

    def is_safe_attribute(self, obj: object, attr: str, value: object) -> bool:
        return (isinstance(obj, list) and attr in ("append", "pop")) or super().is_safe_attribute(obj, attr, value)


class _Rendering:
    """Answers frames: `{"template": …}` first, then `{"values": …, "date": …, "most": …}`."""

    def __init__(self) -> None:
        self._date = datetime.min
        self._environment = _Environment(
            trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, "jinja2.ext.loopcontrols"]
        )
        self._environment.filters["tojson"] = _to_json
        self._environment.globals.update(raise_exception=_refuse, strftime_now=self._strftime)
        self._template: jinja2.Template | None = None

    def _strftime(self, form: str) -> str:
        return self._date.strftime(form)

    def answer(self, frame: bytes) -> bytes:
        """Return `{"text": …}`, or `{"error": …}`."""
        request = json.loads(frame)
        signal.setitimer(signal.ITIMER_PROF, RENDER_S)
        try:
            found = {"text": self._render(request, len(frame))}
        except Exception as error:  # whatever a template raises
            found = {"error": f"{type(error).__name__}: {error}"[:_REASON_CHARS]}
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        return json.dumps(found).encode()

    def _render(self, request: Mapping[str, object], size: int) -> str:
        if self._template is None:
            with suppress(jinja2.TemplateError):
                self._environment.from_string(_WARM_UP).render()
            child.confine(MEMORY, seconds=0)
            # What is open stays open.
            resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
            self._template = self._environment.from_string(str(request["template"]))
            return ""
        values, most = request["values"], request["most"]
        assert isinstance(values, dict) and isinstance(most, int)
        most += 2 * size
        self._date = datetime.fromisoformat(str(request["date"]))
        parts, length = [], 0
        for part in self._template.generate(values):
            parts.append(part)
            length += len(part)
            if length > most:
                raise ValueError(f"more than {most:,} characters")
        return "".join(parts)


def _to_json(value: object, ensure_ascii: bool = False, indent: int | None = None, **options: object) -> str:
    separators, sort_keys = options.get("separators"), bool(options.get("sort_keys"))
    pair = (str(separators[0]), str(separators[1])) if isinstance(separators, list | tuple) else None
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=pair, sort_keys=sort_keys, default=_listed
    )


def _listed(value: object) -> list[object]:
    """Return what filters such as `map` yield as a list."""
    if isinstance(value, Iterator):
        return list(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _refuse(message: object) -> NoReturn:
    raise jinja2.TemplateError(str(message))


if __name__ == "__main__":
    main()
