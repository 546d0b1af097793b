"""Who may use the server, and what clients that mean harm or do nothing cost it."""

import json
import socket
import threading
from functools import partial
from pathlib import Path
from typing import Any

import openai
import psutil
import pytest

from laguna_tui.base.errors import UserError
from laguna_tui.server.http_app import Timing
from laguna_tui.server.http_server import HEADER_BYTES, ServerOptions, access_rules
from tests.app.server.serving import WAIT_S, Served
from tests.scripted_model import say

CHAT = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 2}
PATHS = ["/v1/models", "/props", "/metrics", "/v1/chat/completions", "/v1/messages", "/tokenize", "/nothing"]


def raw(server: Served, data: bytes) -> bytes:
    """Send bytes as they are; everything that comes back until the server closes, or nothing more comes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_S) as connection:
        received = b""
        try:
            connection.sendall(data)
            while piece := connection.recv(65536):
                received += piece
        except (ConnectionError, BrokenPipeError):
            pass
        return received


def request(server: Served, *headers: str, body: bytes = b"", path: str = "/v1/models") -> bytes:
    lines = [f"POST {path} HTTP/1.1" if body else f"GET {path} HTTP/1.1", *headers, "Connection: close"]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return raw(server, "\r\n".join([*lines, "", ""]).encode() + body)


@pytest.mark.parametrize("token", [None, "Bearer wrong", "Basic {token}", "Bearer", "Bearer  ", "Bearer {token}x"])
@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_answered_without_the_token(nano: Served, path: str, token: str | None):
    shown = None if token is None else token.format(token=nano.token)
    answered = nano.ask("POST", path, CHAT, {"Authorization": shown})
    assert answered.status == 401
    body = answered.body
    assert body["error"]["type"] == "authentication_error"
    assert nano.token not in str(body)


def test_either_header_shows_the_token(nano: Served):
    for headers in ({"Authorization": f"bearer {nano.token}"}, {"Authorization": None, "X-Api-Key": nano.token}):
        assert nano.ask("POST", "/v1/chat/completions", CHAT, headers).status == 200


def test_openai_library_with_a_wrong_key(nano: Served):
    client = openai.OpenAI(api_key="wrong", base_url=f"{nano.url}/v1", max_retries=0)
    with pytest.raises(openai.AuthenticationError):
        client.models.list()


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example", "localhost.evil.example:{port}", "", "[::1",
     "192.168.0.5:{port}", "127.0.0.2"],
)  # fmt: skip
def test_a_name_that_was_made_to_point_here_is_refused(nano: Served, host: str):
    answer = request(nano, f"Host: {host.format(port=nano.port)}", f"Authorization: Bearer {nano.token}")
    assert answer.split(b" ")[1] in (b"403", b"400")
    assert b"nano" not in answer.partition(b"\r\n\r\n")[2]


@pytest.mark.parametrize("hosts", [[], ["127.0.0.1", "evil.example"], ["evil.example", "127.0.0.1"]])
def test_no_host_and_two_hosts_are_refused(nano: Served, hosts: list[str]):
    answer = request(nano, *(f"Host: {host}" for host in hosts), f"Authorization: Bearer {nano.token}")
    assert answer.split(b" ")[1] in (b"403", b"400")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:{port}", "LOCALHOST", "[::1]:{port}"])
def test_its_own_names_are_answered(nano: Served, host: str):
    answer = request(nano, f"Host: {host.format(port=nano.port)}", f"Authorization: Bearer {nano.token}")
    assert answer.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:3000", "file://", "http://127.0.0.1"]
)
def test_web_pages_are_refused_even_with_the_token(nano: Served, origin: str):
    for method in ("POST", "OPTIONS"):
        answered = nano.ask(method, "/v1/chat/completions", CHAT, {"Origin": origin})
        assert answered.status == 403
        assert not any(name.lower().startswith("access-control") for name in answered.headers)


def test_an_allowed_web_page_is_answered_and_only_that(serve: Any):
    page = "http://localhost:3000"
    server = serve(lambda seen: "ok", ServerOptions(port=0, allow_origins=(page,)))
    before = server.ask("OPTIONS", "/v1/chat/completions", None, {"Origin": page, "Authorization": None})
    assert (before.status, before.headers["access-control-allow-origin"]) == (204, page)
    answered = server.ask("POST", "/v1/chat/completions", CHAT, {"Origin": page})
    assert (answered.status, answered.headers["access-control-allow-origin"]) == (200, page)
    assert server.ask("POST", "/v1/chat/completions", CHAT, {"Origin": "http://localhost:3001"}).status == 403


def test_a_huge_body_is_refused_before_it_is_sent(nano: Served):
    head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {nano.token}\r\nContent-Length: {1 << 30}\r\n\r\n"
    answer = raw(nano, f"POST /v1/chat/completions HTTP/1.1\r\n{head}".encode())
    assert answer.startswith(b"HTTP/1.1 413")


def test_a_huge_body_without_a_length_is_cut_off(serve: Any):
    server = serve(lambda seen: "ok", ServerOptions(port=0, body_bytes=100_000))
    head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {server.token}\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    answer = raw(server, f"POST /v1/chat/completions HTTP/1.1\r\n{head}".encode() + chunk * 4)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 413")
    assert server.chat("hi").status == 200


@pytest.mark.parametrize(
    "headers", [b"X-A: " + b"a" * (4 * HEADER_BYTES), b"".join(b"X-%d: a\r\n" % n for n in range(HEADER_BYTES))]
)
def test_header_bombs_are_refused(nano: Served, headers: bytes):
    answer = raw(nano, b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n" + headers + b"\r\n\r\n")
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
    assert nano.get("/health").status == 200


@pytest.mark.parametrize("sent", [b"", b"GET /health HTTP/1.1\r\nHost: 127", b"\x16\x03\x01\x02"])
def test_a_connection_on_which_no_request_comes_is_closed(serve: Any, sent: bytes):
    server = serve(["ok"], ServerOptions(port=0, header_s=0.2))
    # `raw` returns only once the server has closed.
    answer = raw(server, sent)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400")


def test_a_body_that_never_comes_is_given_up(serve: Any):
    server = serve(["ok"], ServerOptions(port=0, body_s=0.2))
    head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {server.token}\r\nContent-Length: 100\r\n\r\n"
    assert raw(server, f"POST /tokenize HTTP/1.1\r\n{head}{{".encode()).startswith(b"HTTP/1.1 408")


def test_clients_that_mean_harm_leave_nothing_behind(serve: Any):
    """Half-open connections, bodies that are too large or never come, heads that are too large: all are closed."""
    server = serve(["ok"], ServerOptions(port=0, header_s=0.2, body_s=0.2, body_bytes=100_000))
    head = f"POST /tokenize HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.token}\r\n".encode()
    sent = [
        b"GET /health HTTP/1.1\r\nHost: 127",
        b"GET /health HTTP/1.1\r\nX-A: " + b"a" * (4 * HEADER_BYTES),
        head + b"Content-Length: 1073741824\r\n\r\n",
        head + b"Content-Length: 100\r\n\r\n{",
        head + b"Transfer-Encoding: chunked\r\n\r\n" + (b"10000\r\n" + b"x" * 0x10000 + b"\r\n") * 4,
        head + b"Origin: http://evil.example\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
    ]
    assert server.get("/health").status == 200
    before = connections(server)
    for _ in range(3):
        for data in sent:
            raw(server, data)
    wait_for_connections(server, before)
    assert server.chat("hi").status == 200


def connections(server: Served) -> int:
    """The connections that the server, which runs in this process, has not closed."""
    found = psutil.Process().net_connections("tcp")
    return sum(bool(each.raddr) and each.laddr.port == server.port for each in found)


def wait_for_connections(server: Served, most: int) -> None:
    pause = threading.Event()
    for _ in range(int(WAIT_S / 0.05)):
        if connections(server) <= most:
            return
        pause.wait(0.05)
    raise AssertionError(f"{connections(server)} connections are open, not {most}")


def test_a_client_that_reads_nothing_is_given_up(serve: Any):
    words = " ".join(f"w{number}" for number in range(1500))
    server = serve(lambda seen: say(words), ServerOptions(port=0, timing=Timing(send_s=0.2)), context=16_384)
    wanted = {"messages": CHAT["messages"], "stream": True, "logprobs": True, "top_logprobs": 20}
    body = json.dumps(wanted).encode()
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", server.port))
        head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {server.token}\r\nContent-Length: {len(body)}\r\n\r\n"
        slow.sendall(f"POST /v1/chat/completions HTTP/1.1\r\n{head}".encode() + body)
        slow.recv(1)
        wait_for_connections(server, 0)
    assert server.chat("hi", max_tokens=3).status == 200


def test_a_client_that_reads_nothing_holds_up_nobody(tiny: Served):
    body = b'{"prompt": "slow", "stream": true, "logprobs": 20}'
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", tiny.port))
        head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {tiny.token}\r\nContent-Length: {len(body)}\r\n\r\n"
        slow.sendall(f"POST /v1/completions HTTP/1.1\r\n{head}".encode() + body)
        slow.recv(1)
        assert tiny.post("/v1/completions", prompt="quick", max_tokens=3).status == 200


def test_too_many_requests_get_a_retry_after(tiny: Served):
    found: list[int] = []
    ask = partial(tiny.post, "/v1/completions", prompt="b", max_tokens=3)
    with tiny.streaming("a"):
        waits = threading.Thread(target=lambda: found.append(ask().status))
        waits.start()
        ticks = threading.Event()
        while tiny.metrics()["requests_waiting"] + len(found) == 0:
            ticks.wait(0.01)
        refused = ask()
        if not found:
            assert refused.status == 429
            assert int(refused.headers["retry-after"]) > 0
    waits.join(WAIT_S)
    assert found == [200]
    assert ask().status == 200


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"text"', b"\xff\xfe", b"[" * 100_000, b"null", b"NaN"])
def test_malformed_requests_are_refused(nano: Served, body: bytes):
    for path in ("/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/tokenize"):
        answered = nano.ask("POST", path, body)
        assert answered.status == 400
        assert "error" in answered.body


def test_wrong_paths_and_methods_are_reported(nano: Served):
    assert nano.get("/nothing").status == 404
    assert nano.get("/v1/chat/completions").status == 405
    assert nano.ask("GET", "/../../etc/passwd").status == 404


def test_others_reach_it_only_where_the_user_wants_that(tmp_path: Path):
    token = tmp_path / "token"
    token.write_text("a-token-of-my-own-choice\n")
    with pytest.raises(UserError) as error:
        access_rules(ServerOptions(host="0.0.0.0"))
    assert str(error.value) == "--host 0.0.0.0: other machines could use the model; if you want that, add --expose"
    with pytest.raises(UserError) as error:
        access_rules(ServerOptions(host="0.0.0.0", expose=True))
    assert str(error.value) == ("--expose: other machines need a token that you chose; add --token-file FILE")
    with pytest.raises(UserError) as error:
        access_rules(ServerOptions(host="0.0.0.0", expose=True, token_file=token))
    assert str(error.value) == "--host 0.0.0.0: the server needs a name that clients use; add --allow-host NAME"
    rules = access_rules(ServerOptions(host="0.0.0.0", expose=True, token_file=token, allow_hosts=("Box.Local",)))
    assert (rules.hosts, rules.token) == ({"box.local"}, "a-token-of-my-own-choice")


@pytest.mark.parametrize("text", ["", "short", "with a blank in the middle", "ünïcödéünïcödéünïcödé"])
def test_a_token_that_can_be_guessed_is_refused(tmp_path: Path, text: str):
    file = tmp_path / "token"
    file.write_text(text)
    with pytest.raises(UserError) as error:
        access_rules(ServerOptions(token_file=file))
    assert str(error.value) == f"--token-file {file}: the token needs at least 16 ASCII characters, without blanks"
    with pytest.raises(UserError) as error:
        access_rules(ServerOptions(token_file=tmp_path / "none"))
    assert str(error.value) == (
        f"--token-file {tmp_path}/none: cannot be read ([Errno 2] No such file or directory: '{tmp_path}/none'); "
        "choose another file"
    )


def test_every_server_has_another_token():
    assert access_rules(ServerOptions()).token != access_rules(ServerOptions()).token


def test_an_address_in_use_is_reported(serve: Any, nano: Served):
    from laguna_tui.server.http_server import HttpServer

    with pytest.raises(UserError, match="choose another port"):
        HttpServer(lambda: None, ServerOptions(port=nano.port)).start()


def test_without_a_model_there_is_a_503(nano: Served):
    from laguna_tui.server.http_server import HttpServer

    server = HttpServer(lambda: None, ServerOptions(port=0))
    server.start()
    try:
        found = Served(server, nano.slot)
        assert found.chat("hi").status == found.get("/v1/models").status == 503
        assert found.get("/health").status == 200
    finally:
        server.stop()
