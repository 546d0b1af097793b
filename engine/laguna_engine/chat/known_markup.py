"""Tags around reasoning and calls in a model's turns, and a table of what chat templates do not show of them: tags that
are not text, forms of calls, and tokens that end a turn.
"""

import re
from dataclasses import dataclass, field

from laguna_engine.chat.call_form import HERMES, LAGUNA, CallForm, FormKind
from laguna_engine.gguf.laguna import END_THINK, THINK


@dataclass(frozen=True, slots=True)
class ThinkTags:
    """The tags around a model's reasoning."""

    opens: str
    closes: str


_THINKING = (
    ThinkTags("<think>", "</think>"),
    ThinkTags("[THINK]", "[/THINK]"),
    ThinkTags("<|channel>thought\n", "<channel|>"),
    ThinkTags("<|channel|>analysis<|message|>", "<|end|>"),
    ThinkTags("<seed:think>", "</seed:think>"),
    ThinkTags("<|START_THINKING|>", "<|END_THINKING|>"),
)


@dataclass(frozen=True, slots=True)
class KnownMarkup:
    """The markup of a family that its templates leave out.

    Attributes:
        dropped: tags in a turn that are neither text nor part of a call.
        forms: forms of calls, in place of the one in the template.
        stops: texts of further tokens that end a turn.
        broken: whether the template writes calls wrongly, so that they are rendered as text (`tool_text`).
    """

    dropped: tuple[str, ...] = ()
    forms: tuple[CallForm, ...] = field(default=())
    stops: tuple[str, ...] = ()
    broken: bool = False


@dataclass(frozen=True, slots=True)
class TurnMarkup:
    """The markup of a model's turn.

    Attributes:
        forms: forms of calls; empty for a model that makes none.
        thinking: tags of reasoning; None for a model that does not reason.
        dropped: tags that are neither text nor part of a call; they may begin like a call.
    """

    forms: tuple[CallForm, ...] = ()
    thinking: ThinkTags | None = None
    dropped: tuple[str, ...] = ()

    @property
    def thinking_tokens(self) -> tuple[str, str]:
        """The shortest text with which only reasoning begins, and the special token that closes it."""
        if self.thinking is None:
            return "", ""
        opens = re.sub(r"(?<=>).+", "", self.thinking.opens, flags=re.DOTALL)
        shared = any(each.startswith(opens) for each in self.dropped)
        return self.thinking.opens if shared else opens, self.thinking.closes


LAGUNA_TURN = TurnMarkup((LAGUNA,), ThinkTags(THINK, END_THINK))


_CHANNELS = ("<|start|>assistant", "<|channel|>final<|message|>", "<|channel|>commentary<|message|>", "<|end|>")

_FAMILIES = {
    # gpt-oss writes the recipient before or after the channel.
    "<|channel|>analysis": KnownMarkup(
        _CHANNELS,
        (
            CallForm(
                FormKind.NAMED_JSON,
                "<|channel|>commentary to=functions.",
                "<|call|>",
                after_name=" <|constrain|>json<|message|>",
            ),
            CallForm(
                FormKind.NAMED_JSON, " to=functions.", "<|call|>", after_name="<|channel|>commentary json<|message|>"
            ),
        ),
        ("<|return|>", "<|call|>"),
    ),
    # Templates of DeepSeek R1 and its distilled models leave out the end of calls and the beginning of later ones.
    "<｜tool▁sep｜>' + tool['function']['name'] + '\\n' + '```json'": KnownMarkup(
        forms=(
            CallForm(
                FormKind.NAMED_JSON,
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>",
                "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
                "\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
                after_name="\n```json\n",
            ),
        ),
        broken=True,
    ),
    # LFM2, Granite 3.3 and SmolLM3 call tools, though most of their templates write no calls.
    "List of tools: ": KnownMarkup(
        forms=(CallForm(FormKind.PYTHON, "<|tool_call_start|>[", "]<|tool_call_end|>", ", "),)
    ),
    "respond only with <|tool_call|>": KnownMarkup(forms=(CallForm(FormKind.JSON, "<|tool_call|>[", "]", ", "),)),
    "Reasoning Mode: ": KnownMarkup(forms=(HERMES,)),
    "<|python_tag|>": KnownMarkup(stops=("<|eom_id|>",)),
    "<|tool_response>": KnownMarkup(stops=("<|tool_response>",)),
    "<|observation|>": KnownMarkup(stops=("<|observation|>", "<|user|>")),
    "<|START_TEXT|>": KnownMarkup(("<|START_TEXT|>", "<|END_TEXT|>")),
    "<|START_RESPONSE|>": KnownMarkup(("<|START_RESPONSE|>", "<|END_RESPONSE|>")),
}


def known_markup(source: str) -> KnownMarkup:
    """Return the entry of the family that a template belongs to."""
    return next((known for text, known in _FAMILIES.items() if text in source), KnownMarkup())


def think_tags(source: str) -> ThinkTags | None:
    """Return the tags of reasoning in a template; None if it has none."""
    return next((tags for tags in _THINKING if tags.opens.strip() in source or tags.closes in source), None)
