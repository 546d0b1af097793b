"""A model file that answers as it was written down, in any program that runs llama.cpp.

    answering_file(path, ["It adds.", call_text("edit", path="add.py", old="-", new="+"), "It is done."])

The pieces of all answers are tokens of their own. The file's chat template ends a prompt with a marker that says how
often the model has spoken, and the weights lead from that marker through the pieces of one answer to the end: its layer
adds nothing to what is embedded, so that a token alone decides the next one. The template writes calls and their
results as Hermes' does, which llama.cpp's server recognises and turns into calls; a server that does not gives them as
text.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.engine import tiny
from tests.scripted_model.vocabulary import vocabulary

WIDTH, HEADS, CONTEXT = 64, 2, 32_768
_SCALE = 10.0
"""Of the weights that lead from a token to the next: logits are then hundreds apart, and no temperature matters."""
_PIECE_BYTES = 24
"""llama-cpp-python loses tokens that are longer than 32."""
_END = "<|im_end|>"

TEMPLATE = """\
{%- if tools %}<|im_start|>system
{% if messages[0].role == 'system' %}{{ messages[0].content }}{% endif %}
# Tools
<tools>{% for tool in tools %}
{{ tool | tojson }}{% endfor %}
</tools>
For each function call, return a json object with function name and arguments within <tool_call></tool_call> tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
{% elif messages[0].role == 'system' %}<|im_start|>system
{{ messages[0].content }}<|im_end|>
{% endif %}
{%- set said = namespace(turns=0) %}
{%- for message in messages %}
{%- if message.role == 'assistant' %}
{%- set said.turns = said.turns + 1 %}
{{- '<|im_start|>assistant' }}
{%- if message.content %}{{ '\\n' + message.content }}{% endif %}
{%- for call in message.tool_calls or [] %}
{{- '\\n<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
{%- if call.function.arguments is string %}{{ call.function.arguments }}
{%- else %}{{ call.function.arguments | tojson }}{% endif %}
{{- '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- elif message.role == 'tool' %}
{{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
{%- elif message.role == 'user' %}
{{- '<|im_start|>user\\n' + message.content + '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n<|turn_' + (said.turns | string) + '|>' }}{% endif %}
"""


def call_text(name: str, **arguments: object) -> str:
    """A call of a tool, as Hermes' models write it."""
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def answering_file(path: Path, answers: Sequence[str]) -> Path:
    """Write a model file that gives these answers, one each time it speaks in a chat."""
    known, types, merges = vocabulary()
    turns = [f"<|turn_{number}|>" for number in range(len(answers))]
    texts, kinds = [*known, "<|im_start|>", _END, *turns], [*types, *[tiny.CONTROL] * (2 + len(turns))]
    end, following = len(known) + 1, dict[int, int]()
    for number, answer in enumerate(answers):
        last = len(known) + 2 + number
        for piece in _pieces(answer):
            following[last], last = len(texts), len(texts)
            texts.append(piece)
            kinds.append(tiny.NORMAL)
        following[last] = end
    file = tiny.GgufFile()
    _describe(file, len(texts))
    file.set("tokenizer.ggml.model", "gpt2").set("tokenizer.ggml.pre", "qwen2")
    file.set("tokenizer.ggml.tokens", texts).set("tokenizer.ggml.token_type", kinds)
    file.set("tokenizer.ggml.merges", list(merges))
    for name in ("bos", "eos", "eot"):
        file.set(f"tokenizer.ggml.{name}_token_id", end)
    file.set("tokenizer.ggml.add_bos_token", False).set("tokenizer.chat_template", TEMPLATE)
    _add_tensors(file, len(texts), following)
    return file.write(path)


def _pieces(text: str) -> list[str]:
    """The text in pieces, as tokens are written in a file."""
    characters, data = tiny.byte_characters(), text.encode()
    pieces = (data[at : at + _PIECE_BYTES] for at in range(0, len(data), _PIECE_BYTES))
    return ["".join(characters[byte] for byte in piece) for piece in pieces]


def _describe(file: tiny.GgufFile, size: int) -> None:
    file.set("general.architecture", "llama").set("general.name", "answering")
    values = {
        "vocab_size": size,
        "context_length": CONTEXT,
        "embedding_length": WIDTH,
        "block_count": 1,
        "feed_forward_length": WIDTH,
        "attention.head_count": HEADS,
        "attention.head_count_kv": HEADS,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "rope.dimension_count": WIDTH // HEADS,
    }
    for key, value in values.items():
        file.set(f"llama.{key}", value)


def _add_tensors(file: tiny.GgufFile, size: int, following: dict[int, int]) -> None:
    signs = np.random.default_rng(1).choice([-1.0, 1.0], (size, WIDTH)).astype(np.float32)
    output = np.zeros((size, WIDTH), np.float32)
    for token, after in following.items():
        output[after] += _SCALE * signs[token]
    ones, nothing = np.ones(WIDTH, np.float32), np.zeros((WIDTH, WIDTH), np.float32)
    file.tensors["token_embd.weight"] = signs
    file.tensors["output_norm.weight"] = ones
    file.tensors["output.weight"] = output
    for name in ("attn_norm", "ffn_norm"):
        file.tensors[f"blk.0.{name}.weight"] = ones
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        file.tensors[f"blk.0.{name}.weight"] = nothing
