"""A session with a model behind an endpoint: the same loop, tools, thinking, cancel, and going on after a failure."""

import threading
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from laguna_engine.errors import EngineError
from laguna_tui.backends.remote_errors import RemoteError, RemoteProblem
from laguna_tui.base.errors import UserError
from laguna_tui.base.events import (
    CallRejected,
    ReasoningDelta,
    StepFinished,
    TextDelta,
    ToolFinished,
    TurnEnd,
    TurnFinished,
    TurnStarted,
)
from laguna_tui.base.network import OfflineError
from laguna_tui.session.values import Here
from tests.app.session.place import Place, ask, start
from tests.scripted_endpoint import MODEL, answer, dies, endpoint, sends, status, tool, waits


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    monkeypatch.delenv("LAGUNA_API_KEY", raising=False)


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


@contextmanager
def remote(place, served, **settings):
    """An open session with an endpoint's model."""
    settings = {"context": None, "thinking": None, **settings}
    with place.session(f"{served.url}#{MODEL}", **settings) as session:
        yield session


def text_of(events):
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def end_of(events):
    assert isinstance(events[-1], TurnFinished)
    return events[-1].end


def roles(body):
    return [message["role"] for message in body["messages"]]


def test_a_question_is_answered_with_the_endpoints_own_counts(place):
    usage = {"prompt_tokens": 321, "completion_tokens": 12, "prompt_tokens_details": {"cached_tokens": 300}}
    with endpoint([answer("Hello there.", usage=usage)]) as served, remote(place, served) as session:
        assert session.info_at_start.context_size == 16384
        events = ask(session, "hi")
    assert text_of(events) == "Hello there."
    assert end_of(events) is TurnEnd.ANSWERED
    (step,) = (event for event in events if isinstance(event, StepFinished))
    assert (step.stats.prompt_tokens, step.stats.cached_tokens, step.stats.generated_tokens) == (321, 300, 12)
    assert step.cache_known
    assert step.context_used == 333
    body = served.asked[0]
    assert body["model"] == MODEL
    assert roles(body) == ["system", "user"]
    assert body["stream_options"] == {"include_usage": True}
    assert [each["function"]["name"] for each in body["tools"]][:2] == ["find", "search"]
    assert "temperature" not in body, "the endpoint samples as it is set up"


def test_what_is_not_counted_is_not_shown_as_zero(place):
    with endpoint([answer("Hello.")]) as served, remote(place, served) as session:
        events = ask(session, "hi")
        cost = session.prompt.cost("and now?")
        blocks = session.prompt.blocks()
    (started,) = (event for event in events if isinstance(event, TurnStarted))
    assert started.cached is None
    (step,) = (event for event in events if isinstance(event, StepFinished))
    assert not step.cache_known
    assert cost is not None
    assert cost.cached is None
    assert {block.cached for block in blocks} == {None}


def test_tools_run_here_and_their_results_go_back_to_their_calls(place):
    calls = (tool("read", {"path": "a.txt"}, 0), tool("edit", {"path": "a.txt", "old": "one", "new": "two"}, 1))
    with endpoint([answer("I look.", *calls), answer("Done.")]) as served, remote(place, served) as session:
        events = ask(session, "change it")
        assert end_of(events) is TurnEnd.ANSWERED
        assert (place.project / "a.txt").read_text() == "two\n"
        session.history.apply(session.history.plan_undo())
        assert (place.project / "a.txt").read_text() == "one\n"
    second = served.asked[1]["messages"]
    assert [message["role"] for message in second] == ["system", "user", "assistant", "tool", "tool"]
    said, read, edited = second[2:]
    assert [call["id"] for call in said["tool_calls"]] == [read["tool_call_id"], edited["tool_call_id"]]
    assert "one" in read["content"]
    assert said["content"] == "I look."
    assert served.asked[0]["messages"] == second[:2], "what was sent stays a prefix of what is sent next"


def test_a_turn_of_calls_alone_has_an_empty_text_and_calls_may_come_as_text(place):
    """llama-cpp-python's server refuses null, and parses no calls."""
    spelled = '<tool_call>\n{"name": "read", "arguments": {"path": "a.txt"}}\n</tool_call>'
    with endpoint([answer(spelled), answer("Read.")]) as served, remote(place, served) as session:
        events = ask(session, "look")
    assert text_of(events) == "Read."
    said, read = served.asked[1]["messages"][2:]
    assert said["content"] == ""
    assert said["tool_calls"][0]["function"]["name"] == "read"
    assert "one" in read["content"]


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_thinking_is_shown_saved_and_sent_back(place, name):
    script = [answer("First.", thought="They greet me.", under=name), answer("Second.")]
    with endpoint(script) as served, remote(place, served) as session:
        events = ask(session, "hi")
        ask(session, "and?")
    assert "".join(event.text for event in events if isinstance(event, ReasoningDelta)) == "They greet me."
    said = served.asked[1]["messages"][2]
    assert said["reasoning_content"] == said["reasoning"] == "They greet me."
    assert said["content"] == "First."


@pytest.mark.parametrize(
    "call",
    [
        tool("read", '{"path": "a.txt"'),
        tool("read", "[1, 2]"),
        tool("", {"path": "a.txt"}),
    ],
    ids=["torn JSON", "no object", "no name"],
)
def test_a_call_that_cannot_be_run_is_answered(place, call):
    with endpoint([answer("", call), answer("I see.")]) as served, remote(place, served) as session:
        events = ask(session, "look")
    assert any(isinstance(event, CallRejected) for event in events)
    assert text_of(events) == "I see."
    body = served.asked[1]
    # No template could write the call again, so its answer is the user's.
    assert roles(body) == ["system", "user", "assistant", "user"]
    assert body["messages"][-1]["content"].startswith("error: ")


@pytest.mark.parametrize(
    "call", [tool("no_such_tool", {}), tool("read", {"file": "a.txt"})], ids=["unknown tool", "unknown argument"]
)
def test_a_wrong_call_is_answered_by_the_tools(place, call):
    with endpoint([answer("", call), answer("I see.")]) as served, remote(place, served) as session:
        events = ask(session, "look")
    (finished,) = (event for event in events if isinstance(event, ToolFinished))
    assert not finished.ok
    assert served.asked[1]["messages"][-1]["role"] == "tool"


def test_the_part_of_a_torn_answer_is_saved_and_nothing_is_sent_twice(place):
    with endpoint([dies("The first half"), answer("and the second.")]) as served, remote(place, served) as session:
        with pytest.raises(RemoteError) as raised:
            ask(session, "tell me")
        assert raised.value.problem is RemoteProblem.LOST
        assert "/retry" in str(raised.value)
        assert len(served.asked) == 1
        ask(session, "go on")
    assert [message["content"] for message in served.asked[1]["messages"][1:]][1:] == ["The first half", "go on"]


def test_an_answer_is_stopped_at_once_while_the_endpoint_is_silent(place):
    go = threading.Event()
    with endpoint([waits("Begun.", go), answer("Again.")]) as served, remote(place, served) as session:
        events = session.chat.ask("tell me")
        seen = []
        for event in events:
            seen.append(event)
            if isinstance(event, TextDelta):
                session.chat.cancel()
        go.set()
        assert end_of(seen) is TurnEnd.CANCELLED
        assert text_of(ask(session, "and?")) == "Again."
    assert served.asked[1]["messages"][2]["content"] == "Begun."


GARBAGE = "{host} sent something that is not an answer: "
CHECK = " Check that the URL is an OpenAI-compatible endpoint. To try again: /retry."


@pytest.mark.parametrize(
    ("response", "problem", "sentence"),
    [
        (
            status(401, "bad key"),
            RemoteProblem.KEY,
            "{host} does not accept the key (401): “bad key”. Put the key into LAGUNA_API_KEY or the keyring"
            " (laguna-tui help remote), then restart laguna-tui.",
        ),
        (
            status(404, "The model `x` does not exist"),
            RemoteProblem.MODEL,
            "{host} has no such model: “The model `x` does not exist”. Choose one that it serves: --model URL#NAME, or"
            " /model.",
        ),
        (
            status(404, "nothing here"),
            RemoteProblem.URL,
            "{host} has no chat endpoint at this URL (404): “nothing here”. Give the URL up to its /v1: --model"
            " https://HOST/v1#NAME, or /model.",
        ),
        (
            status(429, "slow down", Retry_After="7"),
            RemoteProblem.BUSY,
            "{host} accepts no more requests now (429); it asks to wait 7 seconds: “slow down”. The request was not"
            " repeated. Later: /retry.",
        ),
        (
            status(500, "out of memory"),
            RemoteProblem.FAILED,
            "{host} failed (500): “out of memory”. Its log says why. The request was not repeated. To try again:"
            " /retry.",
        ),
        (
            status(302, "there", Location="https://elsewhere.example/"),
            RemoteProblem.URL,
            "{host} redirects to https://elsewhere.example/. Give the URL up to its /v1: --model"
            " https://HOST/v1#NAME, or /model.",
        ),
        (
            status(400, "unknown field top_k"),
            RemoteProblem.REFUSED,
            "{host} refused the request (400): “unknown field top_k”. Change what it complains about, then /retry.",
        ),
        (
            status(400, "This model's maximum context length is 4096 tokens."),
            RemoteProblem.CONTEXT,
            "The conversation is too long for {host}: “This model's maximum context length is 4096 tokens.”. Make room"
            " with /compact, or set its context with --context N.",
        ),
        (
            sends(b"data: {not json\n\n"),
            RemoteProblem.GARBAGE,
            GARBAGE + "“{{not json”." + CHECK,
        ),
        (
            sends(b"<html>Log in</html>", "text/html"),
            RemoteProblem.GARBAGE,
            GARBAGE + "“<html>Log in</html>”." + CHECK,
        ),
        (
            sends(b'data: {"error": {"message": "CUDA error"}}\n\n'),
            RemoteProblem.FAILED,
            "{host} failed in the middle of the answer: “CUDA error”. Its log says why. The request was not repeated."
            " To try again: /retry.",
        ),
        (
            sends(b'data: {"choices": [{"delta": {"content": 7}}]}\n\n'),
            RemoteProblem.GARBAGE,
            GARBAGE + '“{{"choices": [{{"delta": {{"content": 7}}}}]}}”.' + CHECK,
        ),
        (
            sends(b"\xff\xfe\x00"),
            RemoteProblem.LOST,
            "The connection to {host} was lost in the middle of the answer. What arrived is kept. To continue: /retry.",
        ),
    ],
)
def test_each_failure_is_a_sentence_with_what_to_do(place, response, problem, sentence):
    with endpoint([response, answer("Now.")]) as served, remote(place, served) as session:
        with pytest.raises(RemoteError) as raised:
            ask(session, "hi")
        assert raised.value.problem is problem
        assert str(raised.value) == sentence.format(host=urlsplit(served.url).netloc)
        assert text_of(ask(session, "again")) == "Now.", "the session is whole"


def test_an_answer_that_does_not_stream_is_read_too(place):
    whole = b'{"choices": [{"message": {"role": "assistant", "content": "At once."}, "finish_reason": "stop"}]}'
    with endpoint([sends(whole, "application/json")]) as served, remote(place, served) as session:
        assert text_of(ask(session, "hi")) == "At once."


def test_a_key_is_sent_and_never_written(place, monkeypatch, capfd):
    monkeypatch.setenv("LAGUNA_API_KEY", "a-very-secret-key")
    script = [answer("Hello."), status(500, "bad a-very-secret-key")]
    with endpoint(script, key="a-very-secret-key") as served, remote(place, served) as session:
        ask(session, "hi")
        with pytest.raises(RemoteError) as raised:
            ask(session, "again")
        assert "secret" not in str(raised.value)
        assert "secret" not in repr(session.slot.backend.options)
    kept = b"".join(path.read_bytes() for path in place.state.rglob("*") if path.is_file())
    assert b"Hello." in kept
    assert b"a-very-secret-key" not in kept
    assert "secret" not in "".join(capfd.readouterr())


def test_a_wrong_key_is_refused_without_being_shown(place, monkeypatch):
    monkeypatch.setenv("LAGUNA_API_KEY", "another-secret-key")
    with endpoint(key="the-right-key") as served, pytest.raises(RemoteError) as raised, remote(place, served):
        pass
    assert raised.value.problem is RemoteProblem.KEY
    assert "another-secret-key" not in str(raised.value)


def test_keys_of_other_programs_are_not_sent(place, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    with endpoint([answer("Hello.")]) as served, remote(place, served) as session:
        ask(session, "hi")
    assert not any("Authorization" in headers for headers in served.headers)


def test_a_session_is_resumed_with_its_endpoint(place):
    script = [answer("Stored.", tool("read", {"path": "a.txt"})), answer("Read."), answer("Yes.")]
    with endpoint(script) as served:
        with remote(place, served) as session:
            ask(session, "look")
        (kept,) = place.saved
        with remote(place, served, resume=kept) as session:
            ask(session, "did you?")
    before, after = served.asked[1]["messages"], served.asked[2]["messages"]
    assert after[: len(before)] == before
    assert [message["role"] for message in after[len(before) :]] == ["assistant", "user"]


def test_a_chat_goes_from_a_local_model_to_an_endpoint_and_back(place):
    model = place.model(["Here.", "Back."])
    with endpoint([answer("There.", thought="Far away.")]) as served, place.session(model) as session:
        ask(session, "where?")
        info = session.models.switch(f"{served.url}#{MODEL}", start)
        assert info.not_shown
        assert session.slot.engine is None
        assert text_of(ask(session, "and now?")) == "There."
        with pytest.raises(UserError) as error:
            session.chat.check_replay(lambda progress: None)
        assert str(error.value) == (
            "A replay is not possible with a remote model; only an engine in this process knows its tokens. See: /model"
        )
        session.models.switch(str(model), start)
        assert text_of(ask(session, "and now?")) == "Back."
        said = [each.answer.text for each in session.parts.agent.conversation.items() if each.answer is not None]
    assert said == ["Here.", "There.", "Back."]
    assert [message["content"] for message in served.asked[0]["messages"][2:]] == ["Here.", "and now?"]


def test_an_endpoint_that_cannot_be_had_leaves_the_model_that_answers(place):
    model = place.model(["Here.", "Still here."])
    with place.session(model) as session:
        ask(session, "where?")
        engine = session.slot.engine
        with pytest.raises(EngineError) as raised:
            session.models.switch("http://127.0.0.1:9/v1#x", start)
        assert str(raised.value) == (
            "Cannot connect to 127.0.0.1:9 (Connection refused). Start it or correct the URL, then /retry; or choose"
            " another model with /model."
        )
        assert session.slot.engine is engine, "it was not even closed"
        assert text_of(ask(session, "and now?")) == "Still here."


def test_offline_refuses_every_endpoint_but_those_here(place):
    with endpoint([answer("Here.")]) as served:
        with remote(place, served, offline=True) as session:
            assert text_of(ask(session, "hi")) == "Here."
        with pytest.raises(OfflineError) as error, place.session("https://gpu.example/v1", offline=True):
            pass
        assert str(error.value) == "The model is at gpu.example, and offline is on; run it again with --no-offline"


@pytest.mark.parametrize(
    ("models", "wanted", "words"),
    [(("a", "b"), "", "a, b"), (("a", "b"), "#c", "no model c"), ((), "", "does not list its models")],
)
def test_a_model_that_is_not_there_is_refused_with_those_that_are(place, models, wanted, words):
    with (
        endpoint(models=models) as served,
        pytest.raises(RemoteError, match=words) as raised,
        place.session(served.url + wanted),
    ):
        pass
    assert raised.value.problem is RemoteProblem.MODEL


def test_an_unknown_context_is_assumed_with_a_warning(place):
    with endpoint(context=None) as served, remote(place, served) as session:
        assert session.info_at_start.context_size == 8192
        assert any("--context" in warning for warning in session.info_at_start.warnings)


def test_the_endpoint_that_answers_is_among_the_choices(place):
    with endpoint() as served, remote(place, served) as session:
        current = next(choice for choice in session.models.choices() if choice.current)
    assert current.here is Here.REMOTE
    assert current.title.startswith(MODEL)


@pytest.mark.parametrize(
    "url", ["https://me:secret@host/v1", "https://host/v1?key=secret", "http://", "https://a b/v1"]
)
def test_a_url_that_is_none_or_holds_a_secret_is_refused(place, url):
    with pytest.raises(UserError) as raised:
        place.prepared(url)
    assert "secret" not in str(raised.value) or "query" in str(raised.value)
