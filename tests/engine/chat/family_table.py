"""Writes the table of chat formats by family, read off real templates: `python -m tests.engine.chat.family_table`."""

import re
from pathlib import Path

from laguna_engine.chat.accepted_values import accepted_values
from laguna_engine.chat.call_form import CallForm, read_form
from laguna_engine.chat.chat_template import TemplateFailed
from laguna_engine.chat.known_markup import known_markup, think_tags
from laguna_engine.chat.messages import ToolSpec
from tests.engine.chat.real_templates import NAMES, open_template, templates

PAGE = Path(__file__).with_name("families.md")
FAMILIES = {
    "Apertus": "Apertus-8B-Instruct",
    "ByteDance Seed": "ByteDance-Seed-OSS",
    "DeepSeek R1, distilled": "deepseek-ai-DeepSeek-R1-Distill-Llama-8B",
    "DeepSeek V3.1": "deepseek-ai-DeepSeek-V3.1",
    "DeepSeek V3.2": "deepseek-ai-DeepSeek-V3.2",
    "DeepSeek V4": "deepseek-ai-DeepSeek-V4",
    "Devstral": "unsloth-mistral-Devstral-Small-2507",
    "Gemma 2": "google-gemma-2-2b-it",
    "Gemma 4": "google-gemma-4-31B-it",
    "GLM 4.6": "GLM-4.6",
    "GLM 4.7": "GLM-4.7-Flash",
    "gpt-oss": "openai-gpt-oss-120b",
    "Granite 3.3": "ibm-granite-granite-3.3-2B-Instruct",
    "Granite 4": "ibm-granite-granite-4.1",
    "Hermes 3": "NousResearch-Hermes-3-Llama-3.1-8B-tool_use",
    "Kimi K2": "Kimi-K2-Instruct",
    "Laguna XS 2.1": "poolside-Laguna-XS-2.1",
    "LFM2": "LFM2-8B-A1B",
    "LFM2.5": "LFM2.5-8B-A1B",
    "Llama 3.1": "meta-llama-Llama-3.1-8B-Instruct",
    "Llama 3.3": "meta-llama-Llama-3.3-70B-Instruct",
    "MiniMax M2": "MiniMax-M2",
    "Ministral 3": "mistralai-Ministral-3-14B-Reasoning-2512",
    "Mistral Nemo": "mistralai-Mistral-Nemo-Instruct-2407",
    "Mistral Small 3.2": "Mistral-Small-3.2-24B-Instruct-2506",
    "Nemotron 3": "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
    "Qwen2.5": "Qwen-Qwen2.5-7B-Instruct",
    "Qwen3": "Qwen-Qwen3-0.6B",
    "Qwen3-Coder": "Qwen3-Coder",
    "Qwen3.5": "Qwen3.5-4B",
    "SmolLM3": "HuggingFaceTB-SmolLM3-3B",
}
"""The templates in llama.cpp's sources by the families that users know."""

HEAD = """# Chat formats by family

Read off the templates in llama.cpp's sources by `python -m tests.engine.chat.family_table`; a test compares. Tools:
whether the template shows them to the model, or they are added to the system text. Calls: their form, and what opens
one; "known" where the template writes none, so that the form is from `known_markup.py`. Ends with: what the template
writes behind an answer, and what is known to end one besides.

| column | tests |
|---|---|
| template | `test_real_templates.py`: `test_what_templates_refuse`; `test_hostile_templates.py` |
| calls | `test_the_form_of_calls_is_read_off_the_template` |
| calls, whole and streamed | `test_calls_come_back_as_they_were[TEMPLATE]`; any pieces: `test_form_parser.py` |
| tools and calls, added or known | `test_template_format.py`: `test_calls_that_the_template_does_not_write[TEMPLATE]` |
| thinking | `test_reasoning_is_opened_by_the_prompt_or_the_model`, `test_the_channels_of_gpt_oss` |
| constraint | `test_form_constraint.py`; on a real model: `tests/real_model/test_server.py` |
| ends with | `test_the_turn_ends_where_the_template_ends_it`; on a real model: `tests/real_model/test_answers.py` |

| family | template | tools | calls | thinking | ends with |
|---|---|---|---|---|---|
"""
LOOK = ToolSpec("look_up", "Looks up.", {"type": "object", "properties": {"word": {"type": "string"}}})
_MARKER = re.compile(r"<[^<>\s]+>|\[[^\[\]\s]+\]|\[e~\[")
ASKED, ANSWERED = {"role": "user", "content": "probe question"}, {"role": "assistant", "content": "probe answer"}


def row(family: str) -> str:
    """The line of a family."""
    name = FAMILIES[family]
    template = open_template(templates()[name])

    def render(messages: object, tools: object) -> str:
        values = {"messages": messages, "add_generation_prompt": False, **NAMES}
        return template.attempt({**values, "tools": tools} if tools else values, 1 << 20)

    try:
        accepted = accepted_values(render)
        form = read_form(lambda messages, tools: render(accepted.messages(messages), tools)) if accepted.calls else None
        ended = render([ASKED, ANSWERED], []).rpartition("probe answer")[2]
        shows = LOOK.name in _shown(render, accepted.tools([LOOK.as_openai()]))
    finally:
        template.close()
    thinking = think_tags(template.source)
    known = known_markup(template.source)
    end = _MARKER.search(ended)
    cells = (
        family,
        name,
        "shown" if shows else "added" if form is not None or known.forms else "–",
        _calls(form, known.forms),
        _code(thinking.opens.strip()) if thinking is not None else "–",
        ", ".join(map(_code, dict.fromkeys([*([end[0]] if end else []), *known.stops]))) or "–",
    )
    return f"| {' | '.join(cells)} |\n"


def _shown(render: object, tools: object) -> str:
    try:
        return render([ASKED], tools)  # type: ignore[operator]
    except TemplateFailed:
        return ""


def _calls(form: CallForm | None, known: tuple[CallForm, ...]) -> str:
    shown = form or next(iter(known), None)
    if shown is None:
        return "–"
    parts = shown.kind.value, _code(shown.opens.strip()) if shown.opens.strip() else "", "" if form else "known"
    return ", ".join(filter(None, parts))


def _code(text: str) -> str:
    # A bar would end the table's cell.
    return "`" + text.replace("\n", "⏎").replace("|", "\\|") + "`"


if __name__ == "__main__":
    PAGE.write_text(HEAD + "".join(map(row, FAMILIES)), encoding="utf-8")
