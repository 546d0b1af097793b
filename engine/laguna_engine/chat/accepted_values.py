"""Finds out by rendering probes what a chat template accepts, and adapts conversations to it.

Some templates refuse a system message, tools without descriptions, or calls; others silently leave them out.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from laguna_engine.chat.call_form import HERMES, NAME, RESULT, TEXT, CallForm, Render, probe, probe_tools
from laguna_engine.chat.chat_template import TemplateFailed
from laguna_engine.chat.tool_text import Object, joined, written_calls

_SYSTEM, _USER = "probe system", "probe question"
_NOT_RUN, _STOPPED = "The call did not run.", "I was stopped."


@dataclass(frozen=True, slots=True)
class AcceptedValues:
    """Which parts of a conversation a template accepts and shows.

    Attributes:
        system: a system message; otherwise it is put before the first question.
        listed: the list of tools; otherwise it has to be added to the system message.
        undescribed: arguments of tools without a description.
        objects: arguments of calls as objects; otherwise as JSON text.
        calls: calls and their results; otherwise calls are written as text.
        texts: text and calls in one turn; otherwise the calls of such a turn are written as text.
        results: results of calls that are written as text; otherwise they become the user's messages.
        several: several calls in one turn; otherwise each gets its own turn.
        questions: a question right after a call's result; otherwise an answer is inserted.
    """

    system: bool = True
    listed: bool = True
    undescribed: bool = True
    objects: bool = True
    calls: bool = True
    texts: bool = True
    results: bool = True
    several: bool = True
    questions: bool = True

    def messages(self, messages: Sequence[Object], form: CallForm | None = None) -> list[Object]:
        """Return messages as the template accepts them.

        Args:
            messages: in OpenAI's format, with arguments as JSON text.
            form: the form of calls that are written as text; None for a model that only chats.
        """
        # Of a turn that was stopped while the model thought nothing is left; some templates refuse an empty one.
        messages = [
            each for each in messages if each["role"] != "assistant" or each.get("content") or each.get("tool_calls")
        ]
        given = [self._message(each, form) for each in (messages if self.several else _one_by_one(messages))]
        if given and given[0]["role"] == "system" and not self.system:
            given[0] = {**given[0], "role": "user"}
        merged: list[Object] = []
        for each in given if self.questions or not self.calls else _answered(given):
            before = merged[-1] if merged else {}
            plain = not (before.get("tool_calls") or each.get("tool_calls"))
            if each["role"] == before.get("role") in ("user", "assistant") and plain:
                merged[-1] = {**before, "content": joined([before["content"], each["content"]], "\n\n")}
            else:
                merged.append(each)
        return merged

    def tools(self, tools: Sequence[Object]) -> list[Object]:
        """Return tools in OpenAI's format as the template accepts them."""
        return list(tools) if self.undescribed else [_described(each) for each in tools]

    def _message(self, message: Object, form: CallForm | None) -> Object:
        """Return a message with its calls, or with its calls as text."""
        if message["role"] == "tool" and not self.calls and (form is None or not self.results):
            return {"role": "user", "content": message["content"]}
        calls = message.get("tool_calls")
        if not isinstance(calls, Sequence) or not calls:
            return message
        if not self.calls or (message.get("content") and not self.texts):
            written = written_calls(form or HERMES, [_name_and_arguments(each["function"]) for each in calls])
            # For a model that only chats, the tags of calls are ordinary text.
            content = joined([message.get("content"), written if form is not None else str(written)], "\n")
            return {key: each for key, each in message.items() if key != "tool_calls"} | {"content": content}
        change = _with_object if self.objects else _with_json
        return {**message, "tool_calls": [{**each, "function": change(each["function"])} for each in calls]}


def accepted_values(render: Render) -> AcceptedValues:
    """Return what a template accepts. render: renders messages and tools, or raises TemplateFailed."""

    def shows(messages: Sequence[Object], tools: Sequence[Object], *texts: str) -> bool:
        try:
            rendered = render(messages, tools)
        except TemplateFailed:
            return False
        # The list of tools stands before the question.
        shown = rendered.rpartition(_USER)[2] if len(messages) > 2 else rendered
        return all(text in shown for text in texts)

    question = {"role": "user", "content": _USER}
    tools = probe_tools()
    objects = shows(probe(1), tools, NAME, TEXT, RESULT)
    texts = not objects and shows(AcceptedValues(objects=False).messages(probe(1)), tools, NAME, TEXT, RESULT)
    found = AcceptedValues(
        system=shows([{"role": "system", "content": _SYSTEM}, question], [], _SYSTEM),
        undescribed=shows([question], [_undescribed(each) for each in tools]) or not shows([question], tools),
        listed=shows([question], tools, NAME),
        objects=objects,
        calls=objects or texts,
    )
    asked, called, result = probe(1)
    if not found.calls:
        return replace(found, results=shows([asked, {"role": "assistant", "content": TEXT}, result], tools, RESULT))
    again = {"role": "user", "content": RESULT}
    return replace(
        found,
        texts=shows(found.messages([asked, {**called, "content": _STOPPED}, result]), tools, TEXT),
        several=shows(found.messages(probe(2)), tools, NAME),
        questions=shows(found.messages([asked, called, result, again]), tools, RESULT),
    )


def _one_by_one(messages: Sequence[Object]) -> list[Object]:
    """Return messages with one call per turn, each followed by its result."""
    results = {each.get("tool_call_id"): each for each in messages if each["role"] == "tool"}
    found: list[Object] = []
    for each in messages:
        calls = each.get("tool_calls")
        if isinstance(calls, Sequence) and len(calls) > 1:
            for number, call in enumerate(calls):
                found.append({**each, "content": each.get("content") if not number else "", "tool_calls": [call]})
                if (result := results.pop(call["id"], None)) is not None:
                    found.append(result)
        elif each["role"] != "tool" or results.pop(each.get("tool_call_id"), None) is not None:
            found.append(each)
    return found


def _answered(messages: Sequence[Object]) -> Iterator[Object]:
    """Yield messages in which each call has a result, and the model answers results before the next question."""
    open_calls: list[Object] = []
    before = ""
    for each in messages:
        if each["role"] == "tool":
            open_calls = [call for call in open_calls if call["id"] != each.get("tool_call_id")]
        else:
            for call in open_calls:
                yield {"role": "tool", "tool_call_id": call["id"], "content": _NOT_RUN}
            if each["role"] == "user" and (before == "tool" or open_calls):
                yield {"role": "assistant", "content": _STOPPED}
            calls = each.get("tool_calls")
            open_calls = list(calls) if isinstance(calls, Sequence) else []
        before = str(each["role"])
        yield each


def _with_object(function: Object) -> Object:
    arguments = function["arguments"]
    return {**function, "arguments": json.loads(arguments)} if isinstance(arguments, str) else function


def _name_and_arguments(function: Object) -> tuple[str, Object]:
    arguments = _with_object(function)["arguments"]
    return str(function["name"]), arguments if isinstance(arguments, Mapping) else {}


def _with_json(function: Object) -> Object:
    arguments = function["arguments"]
    return function if isinstance(arguments, str) else {**function, "arguments": json.dumps(arguments)}


def _undescribed(tool: Object) -> Object:
    return _changed(tool, lambda schema: {key: each for key, each in schema.items() if key != "description"})


def _described(tool: Object) -> Object:
    return _changed(tool, lambda schema: {"description": "", **schema})


def _changed(tool: Object, change: Callable[[Object], Object]) -> Object:
    """Return a tool with the schema of each argument changed."""
    function = tool["function"]
    assert isinstance(function, Mapping)
    parameters = function["parameters"]
    properties = parameters.get("properties") if isinstance(parameters, Mapping) else None
    if not isinstance(properties, Mapping):
        return tool
    changed = {key: change(each) if isinstance(each, Mapping) else each for key, each in properties.items()}
    return {**tool, "function": {**function, "parameters": {**parameters, "properties": changed}}}
