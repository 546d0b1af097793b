"""What llama.cpp's own server tests check of completions, tokens, context and metrics: see README.md beside."""

import threading
from typing import Any

import openai
import pytest

from laguna_engine.config import PLAIN
from tests.app.server.serving import Served
from tests.scripted_model import say

LONG = " ".join(f"word{number}" for number in range(3000))


def complete(server: Served, prompt: Any, **more: Any) -> Any:
    answered = server.post("/v1/completions", prompt=prompt, **more)
    assert answered.status == 200, answered.body
    return answered.body


@pytest.mark.parametrize("count", [1, 8, 32])
def test_completion(nano: Served, count: int):
    found = complete(nano, "def add(a, b):", max_tokens=count, temperature=0)
    assert found["choices"][0]["text"]
    assert found["choices"][0]["finish_reason"] == "length"
    assert found["usage"]["completion_tokens"] == found["timings"]["predicted_n"] == count


def test_completion_stream_vs_non_stream(nano: Served):
    wanted: dict[str, Any] = {"prompt": "def add(a, b):", "max_tokens": 16, "temperature": 0}
    events = nano.events("/v1/completions", **wanted)
    text = "".join(event["choices"][0]["text"] for event in events)
    assert text == complete(nano, **wanted)["choices"][0]["text"]
    assert events[-1]["choices"][0]["finish_reason"] == "length"


def test_completion_with_openai_library(nano: Served):
    client = openai.OpenAI(api_key=nano.token, base_url=f"{nano.url}/v1")
    found = client.completions.create(model="any", prompt="I believe", max_tokens=8)
    assert found.choices[0].finish_reason == "length"
    streamed = client.completions.create(model="any", prompt="I believe", max_tokens=8, temperature=0, stream=True)
    chunks = list(streamed)
    assert "".join(chunk.choices[0].text for chunk in chunks)
    assert chunks[-1].choices[0].finish_reason == "length"


@pytest.mark.parametrize("stream", [False, True])
def test_completion_stops(nano: Served, stream: bool):
    wanted = {"prompt": "def add(a, b):", "max_tokens": 24, "temperature": 0}
    whole = complete(nano, **wanted)["choices"][0]["text"]
    # In the middle of a token, and more than one.
    stop = whole[len(whole) // 2 : len(whole) // 2 + 5]
    wanted["stop"] = [stop, "never"]
    if stream:
        choices = [event["choices"][0] for event in nano.events("/v1/completions", **wanted)]
        text, finish = "".join(choice["text"] for choice in choices), choices[-1]["finish_reason"]
    else:
        choice = complete(nano, **wanted)["choices"][0]
        text, finish = choice["text"], choice["finish_reason"]
    assert (text, finish) == (whole.partition(stop)[0], "stop")


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_consistent_result_same_seed(nano: Served, temperature: float):
    wanted = {"prompt": "I believe", "seed": 42, "temperature": temperature, "max_tokens": 16}
    assert len({complete(nano, **wanted)["choices"][0]["text"] for _ in range(3)}) == 1


def test_different_result_different_seed(nano: Served):
    wanted = {"prompt": "I believe", "temperature": 1.5, "max_tokens": 16, "top_k": 0}
    assert len({complete(nano, seed=seed, **wanted)["choices"][0]["text"] for seed in range(4)}) == 4


def test_cache_vs_nocache_prompt(nano: Served):
    wanted = {"prompt": "I believe the meaning of life is", "seed": 42, "temperature": 0, "max_tokens": 8}
    complete(nano, "something else", max_tokens=1)
    first, second = (complete(nano, **wanted) for _ in range(2))
    assert first["choices"][0]["text"] == second["choices"][0]["text"]
    assert second["timings"]["cache_n"] == second["usage"]["prompt_tokens"] - 1


def test_nocache_long_input_prompt(nano: Served):
    assert complete(nano, "I believe the meaning of life is" * 32, max_tokens=8)["usage"]["completion_tokens"] == 8


@pytest.mark.parametrize("prompt", [["text"], "text", ["a ", 5], [5, "a "]])
def test_json_prompt(nano: Served, prompt: Any):
    assert complete(nano, prompt, max_tokens=4)["choices"][0]["text"] is not None


@pytest.mark.parametrize(
    ("prompt", "place"),
    [
        (None, "prompt"),
        (5, "prompt"),
        ({"prompt_string": "a"}, "prompt"),
        ([-1], "prompt"),
        ([10**9], "prompt"),
        ([True], "prompt[0]"),
        ([["a", None]], "prompt[0][1]"),
        (["a", "b"], "prompt"),
        ([[5], [6]], "prompt"),
    ],
)
def test_wrong_prompts_are_refused(nano: Served, prompt: Any, place: str):
    answered = nano.post("/v1/completions", prompt=prompt, max_tokens=4)
    assert (answered.status, answered.body["error"]["param"]) == (400, place)


def test_completion_with_tokens_input(nano: Served):
    text = "I believe the meaning of life is"
    tokens = nano.post("/tokenize", content=text).body["tokens"]
    wanted = {"max_tokens": 6, "temperature": 0, "seed": 1}
    last = nano.post("/tokenize", content=" life is").body["tokens"]
    prompts = (text, tokens, [tokens], ["I believe the meaning of", *last])
    found = [complete(nano, prompt, **wanted) for prompt in prompts]
    assert len({each["choices"][0]["text"] for each in found}) == 1
    assert len({each["usage"]["prompt_tokens"] for each in found}) == 1


@pytest.mark.parametrize("clients", [2, 6])
def test_completion_parallel(nano: Served, clients: int):
    prompts = [f"Question {number}: who are you?" for number in range(clients)]
    alone = [complete(nano, prompt, max_tokens=12, temperature=0)["choices"][0]["text"] for prompt in prompts]
    together: dict[int, str] = {}

    def ask(number: int) -> None:
        together[number] = complete(nano, prompts[number], max_tokens=12, temperature=0)["choices"][0]["text"]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [together[number] for number in range(clients)] == alone


def test_n_probs(nano: Served):
    noted = complete(nano, "I believe", max_tokens=5, temperature=0, logprobs=10)["choices"][0]["logprobs"]
    assert len(noted["tokens"]) == len(noted["token_logprobs"]) == len(noted["top_logprobs"]) == 5
    for token, chance, top in zip(noted["tokens"], noted["token_logprobs"], noted["top_logprobs"], strict=True):
        assert chance <= 0
        assert top[token] == max(top.values()) == chance
        assert len(top) == 10


def test_n_probs_stream(nano: Served):
    events = nano.events("/v1/completions", prompt="I believe", max_tokens=5, temperature=0, logprobs=2)
    noted = [event["choices"][0]["logprobs"] for event in events if event["choices"][0]["text"]]
    assert [len(each["tokens"]) for each in noted] == [1] * 5
    assert {len(top) for each in noted for top in each["top_logprobs"]} == {2}
    assert all(chance <= 0 for each in noted for chance in each["token_logprobs"])


def test_cancel_request(tiny: Served):
    """A client that leaves ends its answer, so that the next one has its turn at once."""
    with tiny.streaming("go"):
        assert tiny.metrics()["requests_running"] == 1
    found = complete(tiny, "next", max_tokens=3)
    assert found["usage"]["completion_tokens"] <= 3
    figures = tiny.metrics()
    assert figures["requests_running"] == 0
    assert figures["generated_tokens_total"] < 100


def test_completion_prompt_cache(serve: Any):
    """Conversations that take turns are both in memory."""
    server = serve(lambda seen: "ok")
    texts = LONG[:4000], LONG[4000:8000]
    read = [server.chat(text).body["usage"]["prompt_tokens"] for text in texts]
    for before, text in zip(read, texts, strict=True):
        found = server.chat(text, {"role": "assistant", "content": "ok"}, "and then?").body["usage"]
        assert found["prompt_tokens_details"]["cached_tokens"] >= before
    figures = server.metrics()
    assert figures["held_swaps_total"] == 2
    assert figures["held_conversations"] == 1


@pytest.mark.parametrize(("count", "finish", "tokens"), [(64, "length", 64), (-1, "stop", None)])
def test_a_limit_below_the_context(serve: Any, count: int, finish: str, tokens: int | None):
    server = serve([say("word " * 300)])
    found = server.chat("go", max_tokens=count).body
    assert found["choices"][0]["finish_reason"] == finish
    assert tokens in (None, found["usage"]["completion_tokens"])


def test_an_answer_ends_where_the_context_does(serve: Any):
    server = serve([say("word " * 3000, end="")], context=1024)
    found = server.chat("go").body
    assert found["choices"][0]["finish_reason"] == "length"
    assert found["usage"]["total_tokens"] in (1024, 1025)


@pytest.mark.parametrize("stream", [False, True])
def test_ctx_shift_disabled_long_prompt(serve: Any, stream: bool):
    answered = serve(["ok"], context=1024).post("/v1/completions", prompt=LONG, stream=stream)
    assert answered.status == 400
    assert answered.body["error"]["message"].endswith(
        " exceeds the available context size (1024 tokens); send less, or start the server with a larger --context."
    )


def test_tokenize_detokenize(nano: Served):
    content = "What is the capital of France ?"
    tokens = nano.post("/tokenize", content=content).body["tokens"]
    assert len(tokens) > 5
    assert nano.post("/detokenize", tokens=tokens).body["content"] == content


def test_tokenize_with_bos(nano: Served):
    vocab = nano.slot.engine.vocab
    assert nano.post("/tokenize", content="What", add_special=True).body["tokens"][0] == vocab.bos


def test_tokenize_with_pieces(nano: Served):
    content = "unicode 媽 and emoji 🤗"
    tokens = nano.post("/tokenize", content=content, with_pieces=True).body["tokens"]
    pieces = [each["piece"] for each in tokens]
    assert b"".join(p.encode() if isinstance(p, str) else bytes(p) for p in pieces).decode() == content


def test_server_start_simple(nano: Served):
    assert nano.ask("GET", "/health", headers={"Authorization": None}).body == {"status": "ok"}


def test_server_props(nano: Served):
    props = nano.get("/props").body
    assert props["total_slots"] == 1
    settings = props["default_generation_settings"]
    assert settings["n_ctx"] == nano.slot.healthy().n_ctx
    assert props["modalities"] == {"vision": False, "audio": False}


def test_server_models(nano: Served):
    (model,) = nano.get("/v1/models").body["data"]
    assert (model["id"], model["object"]) == ("nano", "model")
    assert model["meta"]["n_ctx"] == model["max_model_len"] == nano.slot.healthy().n_ctx
    assert nano.get("/v1/models/nano").body["id"] == "nano"
    assert nano.get("/v1/models/other").status == 404


def test_metrics_format(nano: Served):
    nano.chat("hello", max_tokens=2)
    text = nano.get("/metrics").body
    names = {line.split(" ")[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert names == {line.split(" ")[2] for line in text.splitlines() if line.startswith("# HELP")}
    for line in text.splitlines():
        if not line.startswith("#"):
            assert line.partition("{")[0].partition(" ")[0] in names
            float(line.rpartition(" ")[2])


def test_metrics_count_what_the_answers_say(serve: Any):
    server = serve(lambda seen: say("a b c d e f g h " * 4))
    read = cached = written = drafted = accepted = 0
    for _ in range(3):
        found = server.chat("the quick brown fox").body
        timings, speculation = found["timings"], found["usage"]["speculation"]
        read += timings["prompt_n"]
        cached += timings["cache_n"]
        written += timings["predicted_n"]
        drafted += speculation["drafted"]
        accepted += speculation["accepted"]
    figures = server.metrics()
    assert cached > 0
    assert figures["prompt_tokens_total"] - figures["prompt_cached_tokens_total"] == read
    assert figures["prompt_cached_tokens_total"] == cached
    assert figures["generated_tokens_total"] == written
    assert (figures["drafted_tokens_total"], figures["accepted_tokens_total"]) == (drafted, accepted)
    assert drafted >= accepted > 0
    assert (figures["requests_running"], figures["requests_waiting"]) == (0, 0)


@pytest.mark.parametrize("count", [1, 2, 8])
def test_metrics_timings_are_finite(nano: Served, count: int):
    timings = complete(nano, "I believe", max_tokens=count)["timings"]
    assert all(0 <= value < 1e9 for value in timings.values())
    assert min(timings["prompt_ms"], timings["prompt_per_token_ms"]) > 0


def test_metrics_generation_rate_excludes_first_token(nano: Served):
    """The first token comes from the prompt's last row, so it costs no step."""
    timings = complete(nano, "I believe", max_tokens=1)["timings"]
    assert timings["predicted_n"] == 1
    assert timings["predicted_per_second"] == timings["predicted_per_token_ms"] == 0
    timings = complete(nano, "I believe", max_tokens=16)["timings"]
    assert timings["predicted_n"] == 16
    assert timings["predicted_per_second"] == pytest.approx(15 * 1e3 / timings["predicted_ms"])


@pytest.mark.parametrize("length", [0, 2, 8])
def test_with_and_without_draft(nano: Served, length: int):
    """The same answer whatever is drafted."""
    prompt = nano.post("/tokenize", content="def add(a, b):\n    return").body["tokens"]
    engine = nano.slot.engine
    assert engine is not None
    from laguna_engine.engine import Drafting, Request
    from laguna_engine.events import Token

    def text(drafting: Drafting) -> list[int]:
        return [
            e.id for e in engine.generate(Request(prompt, max_tokens=24, drafting=drafting)) if isinstance(e, Token)
        ]

    assert text(Drafting(length=length)) == text(PLAIN)


def test_multi_requests_parallel(nano: Served):
    """More requests than there are turns are answered one after another, each with its own."""
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda n=n: found.append(nano.chat(f"hello {n}", max_tokens=4).status))  # type: ignore[misc]
        for n in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [200] * 12
