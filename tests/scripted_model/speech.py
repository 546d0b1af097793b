"""How the models of a family write their turns: which tokens a turn of a script is, and where a prompt opens one.

Laguna's turns are those of the app's own renderer. The others' are written down here as their models write them, not
read off their templates, so that what the app reads off a template is compared with something.
"""

import json
import re
import threading
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

from laguna_engine.chat.encoding import Content, Markup, SafeEncoder
from laguna_engine.chat.template import to_json
from laguna_engine.gguf.laguna import END_OF_TURN
from laguna_engine.llama.vocab import Vocab
from tests.scripted_model.turns import Call, Hold, Part, Raw, Think, Turn

Written = Markup | Content | Hold


class Speech:
    """The turns of one model in its tokens.

    Attributes:
        answers: the token that ends reasoning; None for a model without.
        end: what ends an answer.
    """

    answers: int | None
    end: str

    def opening_of(self, prompt: Sequence[int]) -> int | None:
        """Where the open turn's own tokens begin; None if no turn is open."""
        raise NotImplementedError

    def last_turn(self, prompt: Sequence[int]) -> tuple[int, int] | None:
        """Where the newest turn that was ended begins and ends, without what encloses it."""
        raise NotImplementedError

    def thinks(self, prompt: Sequence[int]) -> bool:
        """Whether the turn that the prompt opens begins with reasoning."""
        raise NotImplementedError

    def written(self, turn: Turn, prompt: Sequence[int]) -> Sequence[Written]:
        """A turn as the model writes it behind a prompt that opens it."""
        raise NotImplementedError

    def tokens(self, parts: Sequence[Markup | Content]) -> list[int]:
        """The tokens of a part of a turn."""
        raise NotImplementedError

    def encoded(self, parts: Sequence[Written]) -> tuple[list[int], dict[int, threading.Event]]:
        """The tokens of a turn, and what is waited for before which of them."""
        tokens: list[int] = []
        holds: dict[int, threading.Event] = {}
        for held, group in groupby(parts, lambda part: isinstance(part, Hold)):
            if held:
                holds |= {len(tokens): part.event for part in group if isinstance(part, Hold)}
            else:
                tokens += self.tokens([part for part in group if not isinstance(part, Hold)])
        return tokens, holds


class LagunaSpeech(Speech):
    """Laguna's turns."""

    end = END_OF_TURN

    def __init__(self, vocab: Vocab) -> None:
        self._encoder = SafeEncoder(vocab)
        self._opens, self._closes = self._id("<assistant>"), self._id(END_OF_TURN)
        self._thinks, self.answers = self._id("<think>"), self._id("</think>")

    def _id(self, marker: str) -> int:
        token = self._encoder.id_of(marker)
        assert token is not None, f"the vocabulary has no {marker}"
        return token

    def opening_of(self, prompt: Sequence[int]) -> int | None:
        at = _last(prompt, self._opens)
        if at is None or self._closes in prompt[at:]:
            return None
        heads = (index for index, token in enumerate(prompt[at:], at) if token in (self._thinks, self.answers))
        head = next(heads, None)
        return None if head is None else head + 1

    def last_turn(self, prompt: Sequence[int]) -> tuple[int, int] | None:
        closed = _last(prompt, self._closes)
        if closed is None:
            return None
        opened = self.opening_of(prompt[:closed])
        return (closed if opened is None else opened), closed

    def thinks(self, prompt: Sequence[int]) -> bool:
        return prompt[-1] == self._thinks

    def tokens(self, parts: Sequence[Markup | Content]) -> list[int]:
        return self._encoder.encode(parts)

    def written(self, turn: Turn, prompt: Sequence[int]) -> Sequence[Written]:
        last_thought = max((at for at, part in enumerate(turn.parts, 1) if isinstance(part, Think)), default=0)
        parts: list[Written] = []
        if self.thinks(prompt):
            for part in turn.parts[:last_thought]:
                if isinstance(part, Think):
                    parts += [Markup("\n"), Content(part.text)]
                elif isinstance(part, Hold):
                    parts.append(part)
            parts.append(Markup("\n</think>" if last_thought else "</think>"))
        for part in turn.parts[last_thought:]:
            match part:
                case str():
                    parts += [Markup("\n"), Content(part)]
                case Raw(text):
                    parts += [Markup("\n"), Markup(text)]
                case Call(name, arguments):
                    parts += [Markup("\n<tool_call>"), Content(name), Markup("\n"), *_tagged_arguments(arguments)]
                    parts.append(Markup("</tool_call>"))
                case Hold():
                    parts.append(part)
        return [*parts, Markup("\n"), Markup(self.end if turn.end is None else turn.end)]


def _tagged_arguments(arguments: Mapping[str, object]) -> list[Markup | Content]:
    parts: list[Markup | Content] = []
    for key, value in arguments.items():
        parts += [Markup("<arg_key>"), Content(key), Markup("</arg_key>\n<arg_value>")]
        parts += [Content(value if isinstance(value, str) else to_json(value)), Markup("</arg_value>\n")]
    return parts


def _last(tokens: Sequence[int], wanted: int) -> int | None:
    """Where a token stands for the last time."""
    return next((at for at in range(len(tokens) - 1, -1, -1) if tokens[at] == wanted), None)


# -- other families

Calls = Callable[[Sequence[Call]], list[Markup | Content]]


@dataclass(frozen=True)
class Family:
    """A family of models: its real template, and how its models write.

    Attributes:
        template: the name of its template among those of llama.cpp's tests.
        architecture: of the tiny model that plays it.
        control: its special tokens; the first begins a conversation, the second ends an answer.
        defined: tokens that are ordinary text by their type and markup by their use.
        opens: finds the end of what opens a turn, in a prompt whose special tokens alone have brackets.
        closes: finds what ends a turn.
        calls: calls that follow one another.
        think: what encloses reasoning; empty for a model that does not reason.
        unasked: whether it also reasons where the prompt opens no reasoning.
        text: what stands before an answer, where calls do not follow it and where they do.
        call_end: what ends a turn with calls; empty if it is what ends an answer.
        adds_begin: whether the file asks for the first special token at the beginning.
    """

    template: str
    architecture: str
    control: tuple[str, ...]
    opens: str
    closes: str
    calls: Calls
    defined: tuple[str, ...] = ()
    think: tuple[str, str] = ("", "")
    unasked: bool = False
    text: tuple[str, str] = ("", "")
    call_end: str = ""
    adds_begin: bool = False


class FamilySpeech(Speech):
    """The turns of a family."""

    def __init__(self, vocab: Vocab, family: Family) -> None:
        self._vocab, self._family, self.end = vocab, family, family.control[1]
        self._special = {token: text for text, token in vocab.markup.items()}
        self._opens, self._closes = re.compile(family.opens, re.DOTALL), re.compile(family.closes)
        answers = vocab.tokenize(family.think[1].strip(), special=True)
        self.answers = answers[0] if answers else None

    def opening_of(self, prompt: Sequence[int]) -> int | None:
        text, starts = self._marked(prompt)
        found = max((each.end() for each in self._opens.finditer(text)), default=None)
        if found is None or self._closes.search(text, found):
            return None
        return bisect_left(starts, found)

    def last_turn(self, prompt: Sequence[int]) -> tuple[int, int] | None:
        text, starts = self._marked(prompt)
        opened = ((each.end(), self._closes.search(text, each.end())) for each in self._opens.finditer(text))
        ended = [(start, end.start()) for start, end in opened if end is not None]
        return (bisect_left(starts, ended[-1][0]), bisect_left(starts, ended[-1][1])) if ended else None

    def thinks(self, prompt: Sequence[int]) -> bool:
        opens = self._family.think[0].strip()
        return bool(opens) and self._marked(prompt[-8:])[0].rstrip().endswith(opens)

    def tokens(self, parts: Sequence[Markup | Content]) -> list[int]:
        tokenize = self._vocab.tokenize
        return [token for each in parts for token in tokenize(each.text, special=isinstance(each, Markup))]

    def written(self, turn: Turn, prompt: Sequence[int]) -> Sequence[Written]:
        family = self._family
        opened = self.thinks(prompt)
        # What opens a turn of gpt-oss also stands behind a thought.
        shut = (
            bool(family.think[1])
            and not family.text[0]
            and self._marked(prompt[-8:])[0].rstrip().endswith(family.think[1].strip())
        )
        parts: list[Written] = []
        thoughts = [part for part in turn.parts if isinstance(part, Think)]
        if opened or (thoughts and family.unasked and not shut):
            parts += [] if opened else [Markup(family.think[0])]
            last_thought = max((at for at, part in enumerate(turn.parts, 1) if isinstance(part, Think)), default=0)
            for part in turn.parts[:last_thought]:
                parts += [Content(part.text)] if isinstance(part, Think) else [part] if isinstance(part, Hold) else []
            parts.append(Markup(family.think[1]))
        called = False
        for kind, group in groupby([part for part in turn.parts if not isinstance(part, Think)], type):
            same: list[Part] = list(group)
            if kind is Call:
                called = True
                parts += family.calls([part for part in same if isinstance(part, Call)])
                continue
            for part in same:
                match part:
                    case str():
                        follows = any(isinstance(each, Call) for each in turn.parts[turn.parts.index(part) :])
                        parts += [Markup(family.text[follows]), Content(part)]
                    case Raw(text):
                        called = called or bool(family.call_end and family.call_end in text)
                        parts.append(Markup(text))
                    case Hold():
                        parts.append(part)
        end = family.call_end if called and family.call_end else self.end
        return [*parts, Markup(end if turn.end is None else turn.end)]

    def _marked(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """The text of tokens, in which nothing but special tokens has brackets, and where each of them starts."""
        texts = [
            self._special.get(token) or _plain(self._vocab.piece(token).decode("utf-8", "replace")) for token in tokens
        ]
        return "".join(texts), list(accumulate(map(len, texts), initial=0))


def _plain(text: str) -> str:
    return text.replace("<", "(").replace("[", "(")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _hermes(calls: Sequence[Call]) -> list[Markup | Content]:
    parts: list[Markup | Content] = []
    for each in calls:
        body = _json({"name": each.name, "arguments": each.arguments})
        parts += [Markup("\n" if parts else ""), Markup("<tool_call>\n"), Content(body), Markup("\n</tool_call>")]
    return parts


def _bare(calls: Sequence[Call]) -> list[Markup | Content]:
    return [Content("; ".join(_json({"name": each.name, "parameters": each.arguments}) for each in calls))]


def _mistral(calls: Sequence[Call]) -> list[Markup | Content]:
    parts: list[Markup | Content] = []
    for each in calls:
        parts += [Markup("[TOOL_CALLS]"), Content(each.name), Markup("[ARGS]"), Content(_json(each.arguments))]
    return parts


def _python(calls: Sequence[Call]) -> list[Markup | Content]:
    written = (
        f"{each.name}({', '.join(f'{key}={value!r}' for key, value in each.arguments.items())})" for each in calls
    )
    return [Markup("<|tool_call_start|>"), Content(f"[{', '.join(written)}]"), Markup("<|tool_call_end|>")]


def _harmony(calls: Sequence[Call]) -> list[Markup | Content]:
    # It ends its turn at the first one.
    each = calls[0]
    head = [
        Markup("<|channel|>"),
        Content(f"commentary to=functions.{each.name} "),
        Markup("<|constrain|>json<|message|>"),
    ]
    return [*head, Content(_json(each.arguments))]


def _qwen(calls: Sequence[Call]) -> list[Markup | Content]:
    parts: list[Markup | Content] = []
    for each in calls:
        parts += [Markup("\n" if parts else ""), Markup(f"<tool_call>\n<function={each.name}>\n")]
        for key, value in each.arguments.items():
            parts += [Markup(f"<parameter={key}>\n"), Content(_plainly(value)), Markup("\n</parameter>\n")]
        parts.append(Markup("</function>\n</tool_call>"))
    return parts


def _glm(calls: Sequence[Call]) -> list[Markup | Content]:
    parts: list[Markup | Content] = []
    for each in calls:
        parts += [Markup("\n<tool_call>"), Content(each.name + "\n")]
        for key, value in each.arguments.items():
            parts += [
                Markup(f"<arg_key>{key}</arg_key>\n<arg_value>"),
                Content(_plainly(value)),
                Markup("</arg_value>\n"),
            ]
        parts.append(Markup("</tool_call>"))
    return parts


def _dsml(calls: Sequence[Call]) -> list[Markup | Content]:
    parts: list[Markup | Content] = [Markup("\n\n<｜DSML｜function_calls>\n")]
    for each in calls:
        parts.append(Markup(f'<｜DSML｜invoke name="{each.name}">\n'))
        for key, value in each.arguments.items():
            kind = "true" if isinstance(value, str) else "false"
            parts += [Markup(f'<｜DSML｜parameter name="{key}" string="{kind}">'), Content(_plainly(value))]
            parts.append(Markup("</｜DSML｜parameter>\n"))
        parts.append(Markup("</｜DSML｜invoke>\n"))
    return [*parts, Markup("</｜DSML｜function_calls>")]


def _gemma(calls: Sequence[Call]) -> list[Markup | Content]:
    parts: list[Markup | Content] = []
    for each in calls:
        parts += [Markup("<|tool_call>"), Content(f"call:{each.name}{{")]
        for number, (key, value) in enumerate(each.arguments.items()):
            parts.append(Content(f"{', ' if number else ''}{key}:".replace(" ", "")))
            text = isinstance(value, str)
            parts += [Markup('<|"|>' if text else ""), Content(_plainly(value)), Markup('<|"|>' if text else "")]
        parts += [Content("}"), Markup("<tool_call|>")]
    return parts


def _plainly(value: object) -> str:
    return value if isinstance(value, str) else _json(value)


_CHATML_OPENS = r"<\|im_start\|>assistant\n(?:<think>\n(?:\n</think>\n\n)?)?"

FAMILIES: Mapping[str, Family] = {
    "Qwen3.5": Family(
        "Qwen3.5-4B", "qwen35", ("<|endoftext|>", "<|im_end|>", "<|im_start|>"), _CHATML_OPENS, r"<\|im_end\|>", _qwen,
        ("<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"),
        ("<think>\n", "\n</think>\n\n"),
    ),
    "LFM2.5": Family(
        "LFM2.5-8B-A1B", "lfm2moe",
        ("<|startoftext|>", "<|im_end|>", "<|im_start|>", "<|tool_call_start|>", "<|tool_call_end|>", "<think>",
         "</think>"),
        _CHATML_OPENS, r"<\|im_end\|>", _python, think=("<think>", "</think>"), unasked=True, adds_begin=True,
    ),
    "Ministral 3": Family(
        "mistralai-Ministral-3-14B-Reasoning-2512", "mistral3",
        ("<s>", "</s>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]",
         "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[ARGS]", "[THINK]", "[/THINK]"),
        r"\[/INST\]|\[/TOOL_RESULTS\](?!\[TOOL_RESULTS\])", r"</s>|\[INST\]", _mistral, think=("[THINK]", "[/THINK]"),
        unasked=True, adds_begin=True,
    ),
    "gpt-oss": Family(
        "openai-gpt-oss-120b", "gpt-oss",
        ("<|startoftext|>", "<|return|>", "<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|constrain|>",
         "<|call|>"),
        r"<\|start\|>(?!assistant)[^<]*(?:<\|channel\|>commentary)?<\|message\|>[^<]*<\|end\|><\|start\|>assistant",
        r"<\|return\|>|<\|call\|>|<\|start\|>(?!assistant)", _harmony,
        think=("<|channel|>analysis<|message|>", "<|end|><|start|>assistant"), unasked=True,
        text=("<|channel|>final<|message|>", "<|channel|>commentary<|message|>"), call_end="<|call|>",
    ),
    "Llama 3.1": Family(
        "meta-llama-Llama-3.1-8B-Instruct", "llama",
        ("<|begin_of_text|>", "<|eot_id|>", "<|eom_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|python_tag|>"),
        r"<\|start_header_id\|>assistant<\|end_header_id\|>\n\n", r"<\|eot_id\|>|<\|eom_id\|>", _bare, adds_begin=True,
    ),
    "Gemma 4": Family(
        "google-gemma-4-31B-it", "gemma4",
        ("<bos>", "<turn|>", "<|turn>", "<|tool>", "<tool|>", "<|tool_call>", "<tool_call|>", "<|tool_response>",
         "<tool_response|>", "<|channel>", "<channel|>", "<|think|>", '<|"|>'),
        r"<\|turn>model\n|<tool_response\|>(?!<\|tool_response>)", r"<turn\|>|<\|tool_response>", _gemma,
        think=("<|channel>thought\n", "<channel|>"), unasked=True, call_end="<|tool_response>", adds_begin=True,
    ),
    "GLM 4.6": Family(
        "GLM-4.6", "llama",
        ("<|endoftext|>", "<|user|>", "[gMASK]", "<sop>", "<|system|>", "<|assistant|>", "<|observation|>"),
        r"<\|assistant\|>(?:\n<think></think>)?", r"<\|user\|>|<\|observation\|>|<\|system\|>", _glm,
        ("<think>", "</think>", "<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>",
         "<tool_response>", "</tool_response>"),
        ("\n<think>", "</think>\n"), unasked=True, call_end="<|observation|>",
    ),
    "Granite 4": Family(
        "ibm-granite-granite-4.1", "granitehybrid",
        ("<|endoftext|>", "<|end_of_text|>", "<|start_of_role|>", "<|end_of_role|>"),
        r"<\|start_of_role\|>assistant<\|end_of_role\|>", r"<\|end_of_text\|>", _hermes,
        ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"),
    ),
    "DeepSeek V3.2": Family(
        "deepseek-ai-DeepSeek-V3.2", "llama",
        ("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>"),
        r"(?:<｜Assistant｜>|\(/function_results>\n\n)(?:<think>(?:</think>)?|</think>)",
        r"<｜end▁of▁sentence｜>", _dsml,
        ("<think>", "</think>", "｜DSML｜"), ("<think>", "</think>"), adds_begin=True,
    ),
}  # fmt: skip
"""Families by name."""
