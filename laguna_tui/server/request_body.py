"""Reads a request's JSON into the typed body of its path; fields that a path does not use are refused or reported."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn, TypeVar

import msgspec

from laguna_tui.server.api_error import ApiError

B = TypeVar("B", bound=msgspec.Struct)

MAX_DEPTH = 128
"""Levels of lists and objects, as many as the parser of JSON schemas (serde_json, in llguidance) takes."""


_ONE = "gives one answer to a request; send the request again with another seed"
_PROBABILITIES = "does not change single tokens' probabilities; use temperature, top_k, top_p, min_p or repeat_penalty"
_FORM = "holds an answer only to a JSON schema, where the path takes one"
_LENGTH = "ends an answer at max_tokens, a stop text or where the model ends it"
_STORE = "stores nothing; send the whole conversation"
_TOOLS = "calls only the functions in 'tools'"
_TEXT = "reads and writes only text"
_PROMPT = "writes prompts by the model's own template"
_LOGPROBS = "gives the most likely tokens by logprobs, in chats and completions"

UNUSED: Mapping[str, tuple[tuple[object, ...], str]] = {
    **dict.fromkeys(("n", "best_of", "num_return_sequences"), ((1,), _ONE)),
    "use_beam_search": ((False,), _ONE),
    **dict.fromkeys(("frequency_penalty", "presence_penalty", "mirostat", "dry_multiplier"), ((0,), _PROBABILITIES)),
    **dict.fromkeys(("xtc_probability", "dynatemp_range", "top_a", "top_n_sigma"), ((0, -1), _PROBABILITIES)),
    **dict.fromkeys(("typical_p", "typical", "tfs_z", "length_penalty"), ((1,), _PROBABILITIES)),
    **dict.fromkeys(("logit_bias", "bad_words", "allowed_token_ids", "lora"), (({}, []), _PROBABILITIES)),
    **dict.fromkeys(("guided_json", "guided_regex", "guided_choice", "guided_grammar"), ((), _FORM)),
    **dict.fromkeys(("structured_outputs", "regex", "ebnf", "structural_tag", "response_fields"), (({}, []), _FORM)),
    **dict.fromkeys(("grammar", "json_schema", "response_format", "output_format", "format"), (("", {}), _FORM)),
    **dict.fromkeys(("min_tokens", "min_length", "t_max_predict_ms"), ((0, -1), _LENGTH)),
    "ignore_eos": ((False,), _LENGTH),
    **dict.fromkeys(("stop_token_ids", "stop_regex"), (([], ""), _LENGTH)),
    "max_tool_calls": ((), _LENGTH),
    **dict.fromkeys(("previous_response_id", "conversation", "container"), ((), _STORE)),
    "background": ((False,), _STORE),
    **dict.fromkeys(("functions", "mcp_servers"), (([],), _TOOLS)),
    "function_call": (("none", "auto"), _TOOLS),
    "web_search_options": ((), _TOOLS),
    "modalities": ((["text"],), _TEXT),
    **dict.fromkeys(("audio", "mm_processor_kwargs"), ((), _TEXT)),
    "echo": ((False,), "does not repeat the prompt"),
    "suffix": (("",), "does not fill in the middle of a text"),
    **dict.fromkeys(("chat_template", "prompt", "prompt_embeds", "documents"), (("", []), _PROMPT)),
    "logprobs": ((False, 0), _LOGPROBS),
    **dict.fromkeys(("top_logprobs", "n_probs", "prompt_logprobs"), ((0,), _LOGPROBS)),
}
"""Fields that no path uses unless it declares them: values that change nothing, as null does, and the reason."""

HINTS = frozenset(
    {
        *("user", "metadata", "store", "service_tier", "prompt_cache_key", "prompt_cache_retention"),
        *("safety_identifier", "client_metadata", "cache_control", "cache_prompt", "context_management"),
        *("truncation", "prediction", "verbosity", "inference_geo", "timings_per_token", "betas"),
    }
)
"""Fields that may be ignored: they change neither the form, the length nor the choice of an answer, nor any state."""


def parse_json(text: bytes | str, place: str = "") -> object:
    """Return the value of a JSON text.

    Args:
        text: Bytes are UTF-8.
        place: Where it is in the request, for errors; empty for the whole body.

    Raises:
        ValueError: It is not JSON.
        ApiError: It is nested too deeply, or a string has a lone surrogate, which UTF-8 cannot encode.
    """
    try:
        value = json.loads(text if isinstance(text, str) else text.decode("utf-8-sig"))
    except RecursionError:
        raise _too_deep(place) from None
    depth, level = 0, [value]
    while level:
        lists = [each for each in level if isinstance(each, list)]
        objects = [each for each in level if isinstance(each, dict)]
        depth += bool(lists or objects)
        if depth > MAX_DEPTH:
            raise _too_deep(place)
        for text in level:
            if isinstance(text, str):
                _check_text(text, place)
        level = [each for found in lists for each in found]
        level += [each for found in objects for pair in found.items() for each in pair]
    return value


def _check_text(text: str, place: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ApiError(
            400,
            f"{_named(place)} has a string with the lone surrogate U+{ord(text[error.start]):04X}, which is half a "
            "character; send whole characters.",
            param=place or None,
        ) from None


def _too_deep(place: str) -> ApiError:
    sentence = f"{_named(place)} is nested too deeply; nest at most {MAX_DEPTH} lists and objects."
    return ApiError(400, sentence, param=place or None)


def _named(place: str) -> str:
    return f"'{place}'" if place else "The body"


@dataclass(frozen=True, slots=True)
class RequestBody:
    """A request's JSON object.

    Attributes:
        values: The fields, as they were sent.
    """

    values: Mapping[str, object]

    @classmethod
    def of(cls, body: bytes) -> "RequestBody":
        """Parse a request's body; ApiError unless it is a JSON object."""
        try:
            value = parse_json(body)
        except ValueError as error:
            raise ApiError(400, "The body is not JSON.") from error
        if not isinstance(value, dict):
            raise ApiError(400, "The request must be a JSON object.")
        return cls(value)

    def read(self, kind: type[B]) -> B:
        """Return the fields that a path uses. ApiError if one is wrong, or if another would change the answer."""
        for name, (neutral, reason) in UNUSED.items():
            value = self.values.get(name)
            if value is not None and value not in neutral and name not in kind.__struct_fields__:
                refuse(name, f"left out: this server {reason}")
        # Some clients write whole numbers with a decimal point.
        values = {
            name: int(value) if isinstance(value, float) and value.is_integer() else value
            for name, value in self.values.items()
        }
        try:
            return msgspec.convert(values, kind)
        except msgspec.ValidationError as error:
            raise _invalid(str(error)) from error

    def unknown(self, kind: type[msgspec.Struct]) -> list[str]:
        """Return the names of unknown fields."""
        return sorted(self.values.keys() - {*kind.__struct_fields__, *UNUSED, *HINTS})


def refuse(place: str, expected: str) -> NoReturn:
    """Raise the ApiError of a field. expected: What it must be."""
    raise ApiError(400, f"'{place}' must be {expected}.", param=place)


def _invalid(text: str) -> ApiError:
    """Return the error of a wrong body, from msgspec's message: it gives the place nowhere else."""
    what, _, place = text.partition(" - at `$")
    place = place.rstrip("`").removeprefix(".")
    missing = re.fullmatch("Object missing required field `(.+)`", what)
    if missing:
        place, what = f"{place}.{missing[1]}".removeprefix("."), "it is missing"
    return ApiError(400, f"'{place}' cannot be read: {what[0].lower()}{what[1:]}.", param=place)
