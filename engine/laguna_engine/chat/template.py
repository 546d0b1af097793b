"""Renders Laguna's turns as tokens, in the wording of the model's own template; append-only.

Each method returns the tokens of one piece of conversation, to be appended to the transcript. Earlier pieces are never
rendered again, so a session's KV cache stays valid. The wording is poolside's published templates (llama.cpp
`models/templates/poolside-Laguna-*.jinja`): XS.2 and XS-2.1 share a layout and differ in the default system message;
S-2.1 has no line breaks and no description of the call format. A template inside a model file is never executed.
Contents (prompts, tool schemas, files, results) are untrusted throughout.
"""

import json
import re
from collections.abc import Iterable, Sequence
from enum import Enum

from laguna_engine.chat.encoding import Content, Markup, SafeEncoder
from laguna_engine.chat.messages import AssistantMessage, ToolSpec
from laguna_engine.errors import ModelFileError
from laguna_engine.gguf.laguna import END_OF_TURN, END_THINK, EOS_TEXT, NO_EOS, THINK

_POOLSIDE = (
    "You are a helpful, conversationally-fluent assistant made by Poolside. "
    "You are here to be helpful to users through natural language conversations."
)
_TOOLS_HEAD = (
    "### Tools\n\nYou may call functions to assist with the user query.\n"
    "All available function signatures are listed below:\n<available_tools>\n"
)
_CALL_FORMAT = (
    "or each function call, return an unescaped XML-like object with function name and arguments within "
    "'<tool_call>' and '</tool_call>' tags, like here:\n"
)
_CALL_EXAMPLE = (
    "<tool_call>function-name\n<arg_key>argument-key</arg_key>\n"
    "<arg_value>value-of-argument-key</arg_value>\n</tool_call>"
)
_THINK_FIRST = "Wrap your thinking in '<think>', '</think>' tags, followed by a function call. F"
_THINK_EXAMPLE = "<think> your thoughts here </think>\n"


class Family(Enum):
    """The published template a model was trained on."""

    XS_2 = "xs.2"
    XS_2_1 = "xs-2.1"
    S_2_1 = "s-2.1"


_BY_TEMPLATE = (
    ("laguna_glm_thinking_v5", Family.XS_2),
    ("laguna_glm_thinking_v4", Family.XS_2_1),
    ("laguna_glm_thinking_v8", Family.S_2_1),
)
_BY_NAME = (
    (re.compile(r"xs[-_. ]?2[-_. ]?1(?!\d)"), Family.XS_2_1),
    (re.compile(r"xs[-_. ]?2"), Family.XS_2),
    (re.compile(r"\bs[-_. ]?2[-_. ]?1(?!\d)"), Family.S_2_1),
)


def family_for(name: str, template: str = "") -> Family:
    """Return the family of a model file: by the comment in its template (read, never run), else by name, else XS-2.1.

    Args:
        name: `general.name`, or the file name.
        template: `tokenizer.chat_template`; empty when the file has none or only an include.
    """
    for comment, family in _BY_TEMPLATE:
        if comment in template:
            return family
    return next((family for pattern, family in _BY_NAME if pattern.search(name.lower())), Family.XS_2_1)


def to_json(value: object) -> str:
    """Format JSON as transformers' `tojson` prints it in chat templates.

    Spaces after separators, keys in the order given.
    """
    return json.dumps(value, ensure_ascii=False)


class Renderer:
    """Renders pieces of a conversation as tokens, for one model and one setting of thinking.

    `thinking` is fixed because S-2.1 renders old turns differently with it: changing it needs a new transcript.
    """

    def __init__(self, encoder: SafeEncoder, family: Family, thinking: bool) -> None:
        self._encoder = encoder
        self._compact = family is Family.S_2_1
        self._break = "" if self._compact else "\n"
        self._default_prompt = "" if family is Family.XS_2_1 else _POOLSIDE
        self._thinking = thinking
        if encoder.id_of(EOS_TEXT) is None:
            raise ModelFileError(NO_EOS)

    @property
    def stop_tokens(self) -> frozenset[int]:
        """The tokens that end a turn, looked up by text because some files' metadata omits one."""
        return frozenset(token for text in (EOS_TEXT, END_OF_TURN) if (token := self._encoder.id_of(text)) is not None)

    def system(self, prompt: str | None, tools: Sequence[ToolSpec] = ()) -> list[int]:
        """Return the start of a transcript: 〈|EOS|〉, which is also BOS (add no other), and the system block.

        Without prompt and tools there is no block, except in S-2.1 with thinking, which marks itself by an empty one.

        Args:
            prompt: the system prompt; None for the family's default, empty for none.
            tools: the tools offered.
        """
        prompt = self._default_prompt if prompt is None else prompt
        body: list[Markup | Content] = []
        if prompt.strip():
            body += [Markup(self._break), Content(prompt.rstrip())]
        if tools:
            body += self._tool_list(tools, after_prompt=bool(prompt.strip()))
        opening = Markup(EOS_TEXT)
        if not body and not (self._compact and self._thinking):
            return self._encoder.encode([opening])
        return self._encoder.encode([opening, *self._wrapped("system", *body)])

    def user(self, text: str) -> list[int]:
        return self._encoder.encode(self._wrapped("user", Content(text)))

    def user_parts(self, texts: Sequence[str]) -> list[list[int]]:
        """Return a user's message in pieces, each of which can be prefilled before the next exists.

        Joined, they equal the tokens of `user` on the joined texts if every text but the last ends in a line break and
        no later one begins with one: Laguna's pre-tokenizer never joins a line break to the text after it.

        Args:
            texts: at least one.
        """
        pieces: list[list[Markup | Content]] = [[Content(text)] for text in texts]
        opening, *_, closing = self._wrapped("user", Content(""))
        pieces[0].insert(0, opening)
        pieces[-1].append(closing)
        return [self._encoder.encode(piece) for piece in pieces]

    def tool_response(self, text: str) -> list[int]:
        return self._encoder.encode(self._wrapped("tool_response", Content(text)))

    def generation_prompt(self) -> list[int]:
        """Open the assistant's turn, with its reasoning if thinking is on."""
        return self._encoder.encode_markup(f"<assistant>{self._break}{'<think>' if self._thinking else '</think>'}")

    def kept(self, generated: Sequence[int]) -> Sequence[int]:
        """Return those of the model's own tokens that stay in the transcript.

        Without an end that came inside its thinking, which `close_assistant` adds after it, and without 〈|EOS|〉,
        which would begin another transcript.
        """
        last = generated[-1] if generated else None
        ended = last is not None and last == self._encoder.id_of(END_OF_TURN)
        if last == self._encoder.id_of(EOS_TEXT) or (ended and self._in_thinking(generated)):
            return generated[:-1]
        return generated

    def close_assistant(self, generated: Sequence[int]) -> list[int]:
        """Return the tokens to append after the model's own, so that the next piece can follow.

        An interrupted turn gets its reasoning, tool call and turn closed; a complete one only its line break.

        Args:
            generated: all tokens since the generation prompt, the stop token included if there was one.
        """
        text = self._encoder.decode(generated)
        if text.endswith(END_OF_TURN):
            return self._encoder.encode_markup("\n")
        closing = ""
        if self._in_thinking(generated):
            closing += END_THINK + self._break
        if self._last(generated, text, "<tool_call>") > self._last(generated, text, "</tool_call>"):
            closing += "</tool_call>" + self._break
        missing_break = "" if text.endswith("\n") else self._break
        return self._encoder.encode_markup(f"{missing_break}{closing}{END_OF_TURN}\n")

    def assistant(self, message: AssistantMessage) -> list[int]:
        """Return a past assistant turn in canonical form, for history that was not generated in this transcript."""
        parts = self._compact_turn(message) if self._compact else self._turn(message)
        return self._encoder.encode([Markup("<assistant>" + self._break), *parts, Markup(END_OF_TURN + "\n")])

    def _in_thinking(self, generated: Sequence[int]) -> bool:
        """Return whether the last thinking was not closed."""
        text = self._encoder.decode(generated)
        closed = self._last(generated, text, END_THINK)
        return self._last(generated, text, THINK) > closed or (self._thinking and closed < 0)

    def _last(self, generated: Sequence[int], text: str, marker: str) -> int:
        """Return the index of the last occurrence of `marker`, or -1.

        Searched among `generated` if it has a token, so that text quoting it does not count, else in `text`.
        """
        token = self._encoder.id_of(marker)
        if token is None:
            return text.rfind(marker)
        return max((index for index, each in enumerate(generated) if each == token), default=-1)

    def _wrapped(self, name: str, *parts: Markup | Content) -> list[Markup | Content]:
        return [Markup(f"<{name}>{self._break}"), *parts, Markup(f"{self._break}</{name}>\n")]

    def _tool_list(self, tools: Sequence[ToolSpec], after_prompt: bool) -> Iterable[Markup | Content]:
        yield Markup("\n\n" if after_prompt or not self._compact else "")
        yield Markup(_TOOLS_HEAD)
        for tool in tools:
            yield from (Content(to_json(tool.as_openai())), Markup("\n"))
        yield Markup("</available_tools>")
        if not self._compact:
            yield Markup("\n\n" + (_THINK_FIRST if self._thinking else "F") + _CALL_FORMAT)
            yield Markup((_THINK_EXAMPLE if self._thinking else "") + _CALL_EXAMPLE)

    def _turn(self, message: AssistantMessage) -> Iterable[Markup | Content]:
        reasoning, text = message.reasoning, message.text.strip()
        if reasoning:
            yield from (Markup("<think>\n"), Content(reasoning.strip()), Markup("\n"))
        yield Markup("</think>\n")
        if text:
            yield from (Content(text), Markup("\n"))
        yield from self._calls(message, "\n")

    def _compact_turn(self, message: AssistantMessage) -> Iterable[Markup | Content]:
        if self._thinking:
            yield from (Markup("<think>"), Content(message.reasoning))
        yield from (Markup("</think>"), Content(message.text))
        yield from self._calls(message, "")

    def _calls(self, message: AssistantMessage, line_break: str) -> Iterable[Markup | Content]:
        for call in message.calls:
            yield from (Markup("<tool_call>"), Content(call.name), Markup(line_break))
            for key, value in call.arguments.items():
                yield from (Markup("<arg_key>"), Content(key), Markup("</arg_key>" + line_break))
                yield from (Markup("<arg_value>"), Content(value if isinstance(value, str) else to_json(value)))
                yield Markup("</arg_value>" + line_break)
            yield Markup("</tool_call>" + line_break)
