"""The chat format of a model with its own template: messages as tokens, and its turn as events."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from datetime import date
from functools import cached_property, partial
from itertools import accumulate, pairwise, takewhile

from laguna_engine.chat.accepted_values import accepted_values
from laguna_engine.chat.call_form import HERMES, NAME, VARIABLE, CallForm, common_start, probe_tools, read_form
from laguna_engine.chat.chat_template import ChatTemplate, TemplateFailed
from laguna_engine.chat.form_parser import FormParser
from laguna_engine.chat.known_markup import TurnMarkup, known_markup, think_tags
from laguna_engine.chat.messages import Role
from laguna_engine.chat.template_renderer import TemplateRenderer, Vocabulary
from laguna_engine.chat.tool_text import call_head, with_tools
from laguna_engine.constrain.base import ConstraintSpec
from laguna_tui.backends.base import Message, Options, Prompt
from laguna_tui.backends.chat_format import messages_of
from laguna_tui.backends.local.answer_constraints import AnswerConstraints
from laguna_tui.backends.local.laguna_format import Parts

_ANSWER, _THOUGHT, _ANY_TOOL = "probe answer", "probe thought", "probe-tool"
_ANSWERED = ({"role": "user", "content": "probe question"}, {"role": "assistant", "content": _ANSWER})
_CHARS_A_TOKEN = 64
"""No vocabulary has tokens of more characters on average, runs of blanks aside."""
_SHOWN = 48
"""Characters by which a message is found in the rendered conversation."""


class TemplateFormat:
    """Renders prompts for one model. Any thread.

    Attributes:
        form: The form of the calls that the template writes; None if it writes none.
        turn: The markup of the model's turns.
        stop_tokens: The tokens that end them.
    """

    def __init__(self, vocabulary: Vocabulary, source: str, n_ctx: int, model: str) -> None:
        """Take a model.

        Args:
            vocabulary: The model's.
            source: Its template; empty for ChatML.
            n_ctx: Tokens of context.
            model: Identifies it; the tokens of other models' answers are not used.
        """
        self._no_template = not source
        self._template = ChatTemplate(source, date.today())
        self._model, self._most, self._piece = model, _CHARS_A_TOKEN * n_ctx, vocabulary.piece
        self._renderer = TemplateRenderer(vocabulary, self._template, n_ctx)
        # The first rendering decides whether the template is used at all.
        shown = self._rendered(_ANSWERED, [])
        if not all(each["content"] in shown for each in _ANSWERED):
            self._template.give_up("it leaves out messages")
        source = self._template.source
        self._known = known_markup(source)
        accepted = accepted_values(self._attempt)
        self._accepted = replace(accepted, calls=accepted.calls and not self._known.broken)
        self.form = self._read_form()
        forms = self._known.forms or ((self.form,) if self.form is not None else ())
        self.turn = TurnMarkup(forms, think_tags(source), self._known.dropped)
        self._constraints = AnswerConstraints(self.turn)
        self._vocabulary = vocabulary
        self.stop_tokens = self._stop_tokens() | vocabulary.eog
        self._newest: list[tuple[str, Prompt, bool, list[tuple[str, Sequence[int]]]]] = []

    @property
    def warning(self) -> str:
        """A sentence for the user if ChatML stands in for the template, else empty."""
        if self._no_template:
            return "This model's file has no chat template; ChatML is used instead."
        failed = self._template.failed
        return f"This model's chat template cannot be used ({failed}); ChatML is used instead." if failed else ""

    @property
    def writes_calls(self) -> bool:
        """Whether the model can call tools."""
        return bool(self.turn.forms)

    @cached_property
    def calling(self) -> "TemplateFormat":
        """The same format; for a model that only chats, one in which it writes calls as most models do."""
        if self.turn.forms:
            return self
        calling = copy(self)
        calling.turn = replace(self.turn, forms=(HERMES,))
        calling._constraints, calling._newest = AnswerConstraints(calling.turn), []
        return calling

    @cached_property
    def rewrites(self) -> str:
        """How the template changes earlier messages, so that they are read again; empty if it does not."""
        asked, more = ({"role": "user", "content": text} for text in ("probe question", "probe more"))
        answer = {"role": "assistant", "content": _ANSWER, "reasoning_content": _THOUGHT}
        tools = probe_tools() if self.turn.forms else []
        try:
            opened = self._attempt([asked], tools, opened=True)
            before, after = (self._attempt(each, tools) for each in ([asked, answer], [asked, answer, more]))
        except TemplateFailed:
            return ""
        if before.find(NAME) != after.find(NAME):
            return "moves the list of tools"
        tags = self.turn.thinking
        opens_thought = tags is not None and tags.opens.strip() in opened and not after.startswith(opened)
        if opens_thought or (_THOUGHT in before and _THOUGHT not in after):
            return "leaves out earlier thoughts"
        return "" if _ANSWER in common_start(before, after) else "changes earlier messages"

    def render(self, prompt: Prompt) -> list[Parts]:
        """Return the tokens of the system prompt with the tools, then of the parts of each message."""
        pieces = self._closed(prompt)
        parts, at = list[Parts](), 0
        ends = _ends([text for text, _ in pieces], prompt)
        for end, texts in zip(ends, ((), *(each.parts for each in prompt.messages)), strict=True):
            parts.append(self._cut(pieces[at:end], texts))
            at = end
        return parts

    def opening_after(self, prompt: Prompt) -> list[int]:
        """Return the tokens that open the model's turn."""
        closed = sum(len(tokens) for _, tokens in self._closed(prompt))
        return [token for _, tokens in self._pieces(prompt, opened=True) for token in tokens][closed:]

    def parser_after(self, prompt: Prompt) -> FormParser:
        """Return a parser of the model's turn after a prompt."""
        return FormParser(
            prompt.tools,
            self.turn.forms,
            self.turn.thinking,
            self.stop_tokens,
            dropped=self.turn.dropped,
            in_reasoning=self._opens_thinking(prompt),
            special=self._renderer.markup,
        )

    def call_opening(self, prompt: Prompt, name: str = "") -> list[int]:
        """Return the tokens that begin a call after a prompt.

        Args:
            prompt: The conversation.
            name: The tool; empty for any.
        """
        called, form = name or _ANY_TOOL, self.turn.forms[0]
        begun = (form.opens.lstrip() + call_head(form, called)).partition(VARIABLE)[0]
        before, named, after = begun.partition(called)
        if self._opens_thinking(prompt) and self.turn.thinking is not None:
            before = f"{self.turn.thinking.closes}\n\n{before}"
        tokenize = self._vocabulary.tokenize
        tokens = tokenize(before, special=True)
        # Some calls have an identifier before the name.
        if name and named:
            tokens += [*tokenize(name, special=False), *tokenize(after, special=True)]
        return tokens

    def _opens_thinking(self, prompt: Prompt) -> bool:
        """Return whether the model's turn begins with reasoning."""
        tags = self.turn.thinking
        opened = "".join(text for text, _ in self._pieces(prompt, opened=True)[-3:])
        return tags is not None and opened.rstrip().endswith(tags.opens.strip())

    @property
    def markers(self) -> Mapping[int, str]:
        """The special tokens, which are never part of an answer's text."""
        return {token: text for text, token in self._renderer.markup.items()}

    def constraints(self, prompt: Prompt, options: Options) -> tuple[ConstraintSpec, ...]:
        """Return the constraints that the options put on an answer."""
        return self._constraints.of(prompt, options)

    def _cut(self, pieces: Sequence[tuple[str, Sequence[int]]], parts: Sequence[str]) -> Parts:
        """Return the tokens of a message, cut where its parts begin; the first and the last have what is around."""
        tokens = [token for _, each in pieces for token in each]
        if len(parts) < 2:
            return (tokens,)
        content, before = "".join(parts), 0
        for text, each in pieces:
            if (at := text.find(content.strip())) >= 0:
                break
            before += len(each)
        else:
            return (tokens, *([] for _ in parts[1:]))
        at -= len(content) - len(content.lstrip())
        # A token belongs to the part in which it begins.
        begins = [0, *accumulate(len(self._piece(token)) for token in each)][:-1]
        starts = accumulate((len(part) for part in parts[:-1]), initial=at)
        cuts = [before + bisect_left(begins, len(text[: max(0, start)].encode())) for start in starts][1:]
        return tuple(tokens[start:end] for start, end in pairwise([0, *cuts, len(tokens)]))

    def _closed(self, prompt: Prompt) -> list[tuple[str, Sequence[int]]]:
        """Return a conversation as the rendering with an open turn has it, without that turn."""
        source = self._template.source
        opened = self._pieces(prompt, opened=True)
        if any(each.role is Role.USER for each in prompt.messages):
            other = self._pieces(prompt, opened=False)
        else:
            # Many templates refuse a conversation without a question.
            other = self._pieces(_asked(prompt, "2"), opened=True)
        if source != self._template.source:
            # It was given up meanwhile; ChatML writes both.
            return self._closed(prompt)
        shared = [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], zip(opened, other, strict=False))]
        for (_, tokens), (_, others) in list(zip(opened, other, strict=False))[len(shared) : len(shared) + 1]:
            # Without special tokens the whole conversation is one text.
            same = [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], zip(tokens, others, strict=False))]
            shared.append((b"".join(map(self._piece, same)).decode("utf-8", "replace"), same))
        return shared

    def _read_form(self) -> CallForm | None:
        if not self._accepted.calls:
            return None
        try:
            return read_form(lambda messages, tools: self._attempt(self._accepted.messages(messages), tools))
        except TemplateFailed:
            return None

    def _stop_tokens(self) -> frozenset[int]:
        """Return the first special token that the template writes after an answer, and those known to end turns."""
        after = self._rendered(_ANSWERED, []).rpartition(_ANSWER)[2]
        markup = self._renderer.markup
        known = frozenset(markup[text] for text in self._known.stops if text in markup)
        found = sorted((at, -len(each), each) for each in markup if (at := after.find(each)) >= 0)
        opens = self.form.opens if self.form is not None else ""
        # A token that also opens calls does not end a turn.
        ends = [each for _, _, each in found if each not in opens] or [each for _, _, each in found]
        return known | {markup[each] for each in ends[:1]}

    def _pieces(self, prompt: Prompt, *, opened: bool) -> list[tuple[str, Sequence[int]]]:
        if not any(each.role is Role.USER for each in prompt.messages):
            prompt = _asked(prompt, "1")
        for source, known, was_opened, pieces in self._newest:
            if source == self._template.source and was_opened == opened and known == prompt:
                return pieces
        written = [
            each.trace.tokens for each in prompt.messages if each.trace is not None and each.trace.model == self._model
        ]
        render = partial(self._renderer.pieces, written=written, day=prompt.day or date.today())
        try:
            pieces = render(self._values(prompt, opened=opened), attempt=True)
        except TemplateFailed:
            # It may accept as text what it refuses otherwise.
            pieces = render(self._values(prompt, opened=opened, plain=True))
        self._newest = [*self._newest[-2:], (self._template.source, prompt, opened, pieces)]
        return pieces

    def _values(self, prompt: Prompt, *, opened: bool, plain: bool = False) -> dict[str, object]:
        """Return the variables of the template. plain: Whether calls and results are written as ordinary text."""
        messages: Sequence[Mapping[str, object]] = list(messages_of(prompt))
        tools = self._accepted.tools([tool.as_openai() for tool in prompt.tools])
        form = self._text_form
        if tools and form is not None and not (self._accepted.listed and self._accepted.calls):
            messages = with_tools(messages, () if self._accepted.listed else tools, form)
        if plain:
            messages = replace(self._accepted, calls=False).messages(messages)
        else:
            messages = self._accepted.messages(messages, form)
        values: dict[str, object] = {
            "messages": self._with_thoughts(messages),
            "add_generation_prompt": opened,
            # By two names: DeepSeek and Granite have the other one.
            "enable_thinking": prompt.thinking,
            "thinking": prompt.thinking,
        }
        if not prompt.thinking:
            # As near as gpt-oss comes to not thinking.
            values["reasoning_effort"] = "low"
        if tools:
            values["tools"] = tools
        return values

    @property
    def _text_form(self) -> CallForm | None:
        """The form of calls without what ends the turn behind them; None for a model that writes none."""
        if not self.turn.forms:
            return None
        form = self.turn.forms[0]
        ends = filter(None, (self._piece(token).decode("utf-8", "replace") for token in self.stop_tokens))
        return replace(form, closes=min([form.closes, *(form.closes.partition(end)[0] for end in ends)], key=len))

    def _with_thoughts(self, messages: Sequence[Mapping[str, object]]) -> list[Mapping[str, object]]:
        """Return messages with thoughts under the name that gpt-oss's template has for them, too.

        It refuses a turn that has a thought, a text and a call.
        """
        if "message.thinking" not in self._template.source:
            return list(messages)
        return [
            {**each, "thinking": each["reasoning_content"]}
            if "reasoning_content" in each and not (each.get("content") and each.get("tool_calls"))
            else each
            for each in messages
        ]

    def _rendered(self, messages: Sequence[object], tools: Sequence[object]) -> str:
        return self._template.render(self._probed(messages, tools), self._most)

    def _attempt(self, messages: Sequence[object], tools: Sequence[object], *, opened: bool = False) -> str:
        return self._template.attempt(self._probed(messages, tools, opened=opened), self._most)

    def _probed(
        self, messages: Sequence[object], tools: Sequence[object], *, opened: bool = False
    ) -> dict[str, object]:
        values = {"messages": messages, "add_generation_prompt": opened, **self._renderer.names}
        return {**values, "tools": tools} if tools else values


def _ends(texts: Sequence[str], prompt: Prompt) -> list[int]:
    """Return where the system prompt and each message end among the pieces of a conversation."""
    ends, at = list[int](), 0
    for shown in (_shown(prompt.system), *map(_message_shown, prompt.messages)):
        found = next((place for place in range(at, len(texts)) if shown and shown in texts[place]), None)
        at = at if found is None else found + 1
        ends.append(at)
    ends[-1] = len(texts)
    return ends


def _asked(prompt: Prompt, text: str) -> Prompt:
    """Return a prompt with a question."""
    return replace(prompt, messages=(*prompt.messages, Message(Role.USER, (text,))))


def _message_shown(message: Message) -> str:
    if message.answer is None:
        return _shown("".join(message.parts))
    # What follows a call in the same piece is the call's.
    return _shown(message.answer.text) or (message.answer.calls[-1].name if message.answer.calls else "")


def _shown(text: str) -> str:
    return text.strip()[:_SHOWN]
