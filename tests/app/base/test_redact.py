"""Secrets do not get into logs and exports; code and prose stay as they are."""

import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_tui.base.crash_log import write_crash_log
from laguna_tui.base.redact import REDACTED, redact

BODY = "MIIEpAIBAAKCAQEA7bq0Zz\nq8v1kQ==\n"

SECRETS = {
    "AKIAIOSFODNN7EXAMPLE": "id AKIAIOSFODNN7EXAMPLE here",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a": "remote ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz": "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz",
    "glpat-abcdefghij0123456789": "(glpat-abcdefghij0123456789)",
    "sk-proj-abcdefghij0123456789ABCDEFGHIJ": "sk-proj-abcdefghij0123456789ABCDEFGHIJ",
    "sk-ant-api03-abcdefghij0123456789": "key=sk-ant-api03-abcdefghij0123456789",
    "xoxb-123456789012-abcdefGHIJKL": "xoxb-123456789012-abcdefGHIJKL",
    "T000/B000/XXXXXXXXXX": "https://hooks.slack.com/services/T000/B000/XXXXXXXXXX",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv": "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "hf_abcdefghijABCDEFGHIJabcdefghij1234": "HF: hf_abcdefghijABCDEFGHIJabcdefghij1234",
    "npm_abcdefghijklmnopqrstuvwxyz0123456789": "npm_abcdefghijklmnopqrstuvwxyz0123456789",
    "sk_live_abcdefghijklmnop1234": "sk_live_abcdefghijklmnop1234",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w": (
        "jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w end"
    ),
    BODY.strip(): f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}-----END RSA PRIVATE KEY-----\n",
    "b3BlbnNz": "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\n-----END OPENSSH PRIVATE KEY-----",
    "lQOYBGNn": "-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQOYBGNn\n-----END PGP PRIVATE KEY BLOCK-----",
    "cut off": "-----BEGIN PRIVATE KEY-----\ncut off",
    "AAAAgQDputty": "Private-Lines: 1\nAAAAgQDputty\nPrivate-MAC: 12",
    "wJalrXUtnFEMI": "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI",
    "correct horse": 'export DB_PASSWORD="correct horse"',
    "s3cr3tvalue": "  - STRIPE_SECRET: s3cr3tvalue",
    "diffvalue1": "+API_KEY=diffvalue1",
    "hunter2x": 'password = "hunter2x"',
    "jsonvalue": '{"client_secret": "jsonvalue"}',
    "abc123def456ghi": "'token': 'abc123def456ghi'",
    "opaque-value": "Authorization: Bearer opaque-value",
    "dXNlcjpwYXNz": "curl -H 'authorization: Basic dXNlcjpwYXNz' x",
    "abcdefghijklmnop1": "sent bearer abcdefghijklmnop1",
    "p%40ss": "postgres://shop:p%40ss@localhost/shop",
    "onlytoken": "https://:onlytoken@example.org/x.git",
    "session=1234": "Cookie: session=1234; other=2",
    "netrcpass": "machine example.org login me password netrcpass",
    "hunter22": "mysql --password=hunter22",
    "abc123": "https://example.org/?access_token=abc123&x=1",
}
PLAIN = [
    "max_tokens=4096",
    "token = next(tokens)",
    "TOKEN = next_token",
    "def login(user: str, password: str) -> None:",
    "client = Client(password=password)",
    'API_KEY = os.environ["API_KEY"]',
    "PASSWORD=$PASSWORD",
    "API_KEY=<your key>",
    'the token: "<think>"',
    "authorization = request.headers",
    "the password must be at least eight characters long",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "https://example.org:8080/a@b",
    "git@github.com:me/shop.git",
    "sk-learn and task-sk-oldstyle",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "KEY=value",
    "PWD=/home/me/shop",
]


@pytest.mark.parametrize(("secret", "text"), SECRETS.items())
def test_a_secret_is_replaced(secret: str, text: str):
    assert secret in text
    assert secret not in redact(text)
    assert REDACTED in redact(text)


@pytest.mark.parametrize("text", PLAIN)
def test_code_and_prose_stay(text: str):
    assert redact(text) == text


def test_the_text_around_a_secret_stays():
    text = "before\nDB_PASSWORD=hunter2x\npostgres://shop:pw@db/shop after"
    assert redact(text) == f"before\nDB_PASSWORD={REDACTED}\npostgres://shop:{REDACTED}@db/shop after"


@pytest.mark.parametrize("text", SECRETS.values())
def test_what_was_redacted_stays_as_it_is(text: str):
    assert redact(redact(text)) == redact(text)


@given(st.text(), st.sampled_from(list(SECRETS.items())), st.text())
def test_a_secret_on_its_own_line_is_replaced_whatever_surrounds_it(before: str, secret, after: str):
    hidden, text = secret
    if hidden not in before + after:
        assert hidden not in redact(f"{before}\n{text}\n{after}")


@given(st.text(string.ascii_lowercase + " \n,.", max_size=300))
def test_prose_without_a_secret_word_is_not_touched(text: str):
    if not any(word in text for word in ("pass", "secret", "token", "key", "credential", "bearer", "login", "cookie")):
        assert redact(text) == text


@pytest.mark.parametrize(
    "piece", ["password=", "bearer ", "-----BEGIN PRIVATE KEY-----", "http://a:", "A_", "eyJa.", "secret:'"]
)
def test_a_text_made_to_take_long_takes_time_linear_in_its_length(piece: str):
    def seconds(size: int) -> float:
        begun = time.process_time()
        redact(piece * (size // len(piece)))
        return time.process_time() - begun

    redact(piece)
    # Twenty times the text; time that grows with the square would be four hundred times as long.
    assert seconds(400_000) < 100 * max(seconds(20_000), 0.003)


def test_a_crash_log_has_no_secrets(tmp_path):
    try:
        raise RuntimeError("cannot connect to postgres://shop:hunter2x@localhost/shop")
    except RuntimeError as error:
        path = write_crash_log(error, tmp_path)
    text = path.read_text()
    assert "hunter2x" not in text
    assert f"postgres://shop:{REDACTED}@localhost" in text
