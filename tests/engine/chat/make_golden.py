"""Renders conversations through poolside's real templates and stores the results in golden.json.

    python -m tests.engine.chat.make_golden FOLDER

FOLDER holds `poolside-Laguna-{XS.2,XS-2.1,S-2.1}.jinja`, as in `vendor/llama.cpp/models/templates` of the
llama-cpp-python source distribution (`pip download --no-binary llama-cpp-python --no-deps llama-cpp-python==0.3.36`).
The templates themselves are not part of this repository. Jinja is set up as in transformers'
`utils/chat_template_utils.py`: blocks trimmed, a `generation` tag, a `tojson` that escapes neither HTML nor Unicode.
"""

import json
import sys
from pathlib import Path
from typing import Any

import jinja2
import jinja2.ext
from jinja2 import nodes
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tests.engine.chat.conversations import CONVERSATIONS

TEMPLATES = {"xs.2": "XS.2", "xs-2.1": "XS-2.1", "s-2.1": "S-2.1"}


class Generation(jinja2.ext.Extension):
    """The `generation` block tag of transformers, without its bookkeeping: it renders its contents."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def tojson(value: Any, ensure_ascii: bool = False) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii)


def main(folder: Path) -> None:
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation])
    environment.filters["tojson"] = tojson
    golden = [
        {
            "name": name,
            "family": family,
            "thinking": thinking,
            "text": template.render(enable_thinking=thinking, **given),
        }
        for family, file in TEMPLATES.items()
        for template in [environment.from_string((folder / f"poolside-Laguna-{file}.jinja").read_text("utf-8"))]
        for name, given in CONVERSATIONS.items()
        for thinking in (False, True)
    ]
    target = Path(__file__).with_name("golden.json")
    target.write_text(json.dumps(golden, ensure_ascii=False, indent=1) + "\n", "utf-8")
    print(f"{len(golden)} renderings in {target}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
