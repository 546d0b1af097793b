"""The templates of real models: what they accept, the forms of their calls, and calls that come back as they were."""

from dataclasses import dataclass, replace

import pytest

from laguna_engine.chat.accepted_values import AcceptedValues, accepted_values
from laguna_engine.chat.call_form import read_form
from laguna_engine.chat.chat_template import TemplateFailed
from laguna_engine.chat.form_parser import FormParser
from laguna_engine.chat.known_markup import known_markup
from laguna_engine.chat.messages import CallFinished, Malformed, ToolSpec
from tests.engine.chat.real_templates import NAMES, open_template, templates

FORMS = {
    "JSON": """
        Apriel-1.6-15b-Thinker-fixed Bielik-11B-v3.0-Instruct Cohere2MoE CohereForAI-c4ai-command-r-plus-tool_use
        CohereForAI-c4ai-command-r7b-12-2024-tool_use GigaChat3-10B-A1.8B GigaChat3.1-10B-A1.8B MiMo-VL MiniMax-M1
        NVIDIA-Nemotron-Nano-v2 NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use
        NousResearch-Hermes-3-Llama-3.1-8B-tool_use Qwen-QwQ-32B Qwen-Qwen2.5-7B-Instruct Qwen-Qwen3-0.6B Reka-Edge
        ibm-granite-granite-4.0 ibm-granite-granite-4.1 meta-llama-Llama-3.1-8B-Instruct
        meta-llama-Llama-3.2-3B-Instruct meta-llama-Llama-3.3-70B-Instruct mistralai-Mistral-Nemo-Instruct-2407
        unsloth-Apriel-1.5
        """,
    "name and JSON": """
        Apertus-8B-Instruct Kimi-K2-Instruct Kimi-K2-Thinking Mistral-Small-3.2-24B-Instruct-2506
        deepseek-ai-DeepSeek-R1-Distill-Qwen-32B deepseek-ai-DeepSeek-V3.1 llama-cpp-deepseek-r1
        meetkai-functionary-medium-v3.1 mistralai-Ministral-3-14B-Reasoning-2512 moonshotai-Kimi-K2 openai-gpt-oss-120b
        unsloth-mistral-Devstral-Small-2507 upstage-Solar-Open-100B
        """,
    "tagged": """
        ByteDance-Seed-OSS GLM-4.6 GLM-4.7-Flash Kimi-K3 MiniMax-M2 NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 Qwen3-Coder
        Qwen3.5-4B Spark2.5 StepFun3.5-Flash deepseek-ai-DeepSeek-V3.2 deepseek-ai-DeepSeek-V4
        deepseek-ai-DeepSeek-V4-Flash-0731 inclusionai-ling-3.0-flash muse-glimmer openbmb-MiniCPM5-1B
        poolside-Laguna-S-2.1 poolside-Laguna-XS-2.1 poolside-Laguna-XS.2 tencent-Hy3
        """,
    "Python": "LFM2.5-8B-A1B",
    "quoted": "google-gemma-4-31B-it google-gemma-4-31B-it-interleaved",
}

CODE = (
    "def f(x):\r\n    '''doc \"q\" \\ back'''\n    return {'a': [x, \"</parameter>\", '</arg_value>'], 'é': '🙂'}\n"
    '# <tool_call> {"name": "x"}\n    <|im_end|>'
)
TYPES = {"path": "string", "text": "string", "n": "integer", "where": "object"}
PROPERTIES = {name: {"type": each, "description": "It.", "additionalProperties": False} for name, each in TYPES.items()}
WRITE = ToolSpec("write_file", "Writes.", {"type": "object", "properties": PROPERTIES, "required": ["path"]})
LONG = {"path": "a b.py", "text": CODE * 40 + "\n", "n": 3, "where": {"k": [1, True, None], "s": "x"}}
SHORT = {"path": "c.py", "n": 4}


@dataclass
class Opened:
    """A real template: its source, what it accepts, its form, and how it renders."""

    source: str
    accepted: AcceptedValues
    form: object
    render: object


@pytest.fixture(scope="module")
def opened():
    """Opens templates by name, each once."""
    known: dict[str, Opened] = {}

    def open_one(name):
        if name in known:
            return known[name]
        source = templates()[name]
        template = open_template(source)

        def render(messages, tools):
            values = {"messages": messages, "add_generation_prompt": False, **NAMES}
            return template.attempt({**values, "tools": tools} if tools else values, 1 << 20)

        accepted = accepted_values(render)
        form = None
        if accepted.calls:
            form = read_form(lambda messages, tools: render(accepted.messages(messages), tools))
        known[name] = Opened(source, accepted, form, render)
        opened_templates.append(template)
        return known[name]

    opened_templates = []
    yield open_one
    for template in opened_templates:
        template.close()


def turn(opened, calls):
    """What follows the question in a conversation in which the model makes these calls."""
    made = [
        {"id": f"call0000{n}", "type": "function", "function": {"name": "write_file", "arguments": arguments}}
        for n, arguments in enumerate(calls)
    ]
    asked = {"role": "user", "content": "probe question"}
    answered = {"role": "assistant", "content": "", "tool_calls": made}
    result = {"role": "tool", "tool_call_id": "call00000", "name": "write_file", "content": "probe result"}
    text = opened.render([asked, answered, result], [WRITE.as_openai()])
    return text.rpartition("probe question")[2].partition("probe result")[0]


@pytest.mark.parametrize(("kind", "names"), [(kind, names.split()) for kind, names in FORMS.items()], ids=FORMS)
def test_the_form_of_calls_is_read_off_the_template(kind, names, opened):
    assert {name: opened(name).form.kind.value for name in names} == dict.fromkeys(names, kind)


def test_all_other_templates_write_no_call_or_in_no_known_form(opened):
    with_form = {name for names in FORMS.values() for name in names.split()}
    assert {name for name in templates() if opened(name).form is not None} == with_form


@pytest.mark.parametrize("name", [name for names in FORMS.values() for name in names.split()])
def test_calls_come_back_as_they_were(name, opened):
    one = opened(name)
    known = known_markup(one.source)
    for calls in ([LONG], [SHORT, LONG], [LONG, SHORT]):
        if len(calls) > 1 and not one.form.between:
            continue
        text = turn(one, calls)
        start = text.find(one.form.opens.strip("￼ \n")[:10]) if one.form.opens.strip() else text.index("{")
        data = (("I write.\n" if one.form.opens.strip() else "") + text[start:]).encode()
        for size in (1, 3, 10**7) if calls == [LONG] else (4,):
            parser = FormParser((WRITE,), known.forms or (one.form,), dropped=known.dropped)
            events = [event for at in range(0, len(data), size) for event in parser.feed(0, data[at : at + size])]
            found = [each for each in [*events, *parser.finish()] if isinstance(each, CallFinished | Malformed)]
            assert [getattr(getattr(each, "call", each), "arguments", each) for each in found] == calls


def test_what_templates_refuse(opened):
    found = {name: opened(name).accepted for name in templates()}
    everything, no_calls = AcceptedValues(), AcceptedValues(objects=False, calls=False)
    no_tools, nothing = replace(no_calls, listed=False), replace(no_calls, listed=False, results=False)
    llama, mistral = AcceptedValues(several=False), AcceptedValues(questions=False)
    assert {name: each for name, each in found.items() if each != everything} == {
        "meta-llama-Llama-3.1-8B-Instruct": llama,
        "meta-llama-Llama-3.2-3B-Instruct": llama,
        "meta-llama-Llama-3.3-70B-Instruct": llama,
        "mistralai-Ministral-3-14B-Reasoning-2512": mistral,
        "mistralai-Mistral-Nemo-Instruct-2407": mistral,
        "Mistral-Small-3.2-24B-Instruct-2506": mistral,
        "CohereForAI-c4ai-command-r-plus-tool_use": AcceptedValues(undescribed=False),
        "meetkai-functionary-medium-v3.2": AcceptedValues(objects=False),
        # Without a variable of its own it renders nothing.
        "fireworks-ai-llama-3-firefunction-v2": replace(nothing, system=False),
        "google-gemma-2-2b-it": replace(nothing, system=False),
        "HuggingFaceTB-SmolLM3-3B": no_tools,
        "LFM2-8B-A1B": no_calls,
        "LFM2.5-Instruct": no_calls,
        "deepseek-ai-DeepSeek-R1-Distill-Llama-8B": no_tools,
        "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": AcceptedValues(listed=False),
        "deepseek-ai-DeepSeek-V3.1": AcceptedValues(listed=False),
        "ibm-granite-granite-3.3-2B-Instruct": no_calls,
        "llama-cpp-deepseek-r1": AcceptedValues(texts=False),
        "llama-cpp-rwkv-world": nothing,
        "microsoft-Phi-3.5-mini-instruct": nothing,
    }


def test_gemma_2_reads_the_system_prompt_in_the_first_question(opened):
    one = opened("google-gemma-2-2b-it")
    conversation = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Who?"}]
    with pytest.raises(TemplateFailed):
        one.render(conversation, [])
    assert one.render(one.accepted.messages(conversation), []) == (
        "<s><start_of_turn>user\nBe short.\n\nWho?<end_of_turn>\n"
    )
