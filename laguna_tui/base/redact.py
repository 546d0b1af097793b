"""Replaces secrets in a text before it goes into a log or an export, by their form or by the name of their variable.

A secret that looks like an ordinary word and has an ordinary name stays. Every pattern takes time linear in the text.
"""

import re

REDACTED = "[redacted]"
_TOKENS = (
    r"(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA)[A-Z0-9]{16}",  # Amazon
    r"gh[pousr]_[A-Za-z0-9]{30,255}",
    r"github_pat_[A-Za-z0-9_]{30,255}",
    r"gl(?:pat|ptt|dt|rt|cbt|soat)-[A-Za-z0-9_-]{20,255}",
    r"sk-[A-Za-z0-9_-]{20,255}",  # OpenAI, Anthropic, OpenRouter
    r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,255}",  # Stripe
    r"xox[abeoprs]-[A-Za-z0-9-]{10,255}",
    r"xapp-[A-Za-z0-9-]{10,255}",
    r"AIza[A-Za-z0-9_-]{35}",  # Google
    r"ya29\.[A-Za-z0-9_-]{20,2000}",
    r"hf_[A-Za-z0-9]{30,255}",
    r"npm_[A-Za-z0-9]{36}",
    r"pypi-[A-Za-z0-9_-]{50,1000}",
    r"dop_v1_[a-f0-9]{64}",
    r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}",  # SendGrid
    r"AGE-SECRET-KEY-1[A-Z0-9]{50,70}",
    r"eyJ[A-Za-z0-9_-]{10,4000}\.eyJ[A-Za-z0-9_-]{10,8000}\.[A-Za-z0-9_-]{10,4000}",  # JSON web token
)
_FORMS = re.compile(rf"(?<![A-Za-z0-9_-])(?:{'|'.join(_TOKENS)})(?![A-Za-z0-9_])")
_SLACK_HOOK = re.compile(r"(https://hooks\.slack\.com/(?:services|workflows)/)[\w/-]{10,255}")
_BLOCK = re.compile(
    r"(-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----)"
    r".*?(-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
_PUTTY = re.compile(r"(^Private-Lines: \d{1,4}$).*?(^Private-MAC:|\Z)", re.DOTALL | re.MULTILINE)
# Quoted or not; what begins like these is an expression or a placeholder.
_VALUE = r"(?![$<{(%\[])"
_HEADER = re.compile(
    r"(\b(?:proxy-)?authorization[\"']?:\s{0,9}[\"']?"
    r"(?:(?:bearer|basic|token|digest)\s{1,9}|(?=[^\s\"']{0,4000}\d)))[^\s\"'\[]{4,4000}",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(\bbearer\s{1,9})(?=[^\s\"']{0,4000}\d)[a-z0-9._~+/-]{16,4000}=*", re.IGNORECASE)
_COOKIE = re.compile(r"(^[ \t]{0,40}(?:set-)?cookie:[ \t]{0,9})\S[^\n]*", re.IGNORECASE | re.MULTILINE)
_URL = re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"']{0,255}:)[^\s/@\"'\[]{1,255}(?=@)", re.IGNORECASE)
_NETRC = re.compile(r"(\blogin\s{1,9}\S{1,255}\s{1,9}password\s{1,9})[^\s\[]\S{0,255}")
_FLAG = re.compile(rf"(--(?:password|token|api-?key|secret|auth-token)[ =]){_VALUE}(?!-)[^\s\"']{{6,4000}}")

_KEYS = r"api_?key|(?:access|secret|private|signing|encryption)_?key(?:_?id)?"
_SECRETS = rf"pass(?:word|wd|phrase)|(?:client_?)?secret|credentials?|{_KEYS}"
# A variable of an environment: capitals at the beginning of a line.
_VARIABLE = re.compile(
    rf"^([ \t+>-]{{0,40}}(?:(?:export|set)[ \t]{{1,8}})?(?:[A-Z0-9_]{{0,60}}_)?(?:{_SECRETS.upper()}|TOKEN|PASS)"
    r"(?:=|:[ \t]{1,8}(?=\S{0,4000}\d)))"
    rf"{_VALUE}(?:\"[^\"\n]{{1,4000}}\"|'[^'\n]{{1,4000}}'|[^\s\"'(){{}}\[]{{4,4000}}(?!\S))",
    re.MULTILINE,
)
# A name of a program or of a file of data, with a value in quotes; and a parameter without.
_QUOTED = re.compile(
    rf"((?:{_SECRETS})[\"']?\s{{0,9}}(?::=|=>|[:=])\s{{0,9}}([\"']))(?=[^\s\"'<>{{}}$]{{6,4000}}\2)[^\s\"'<>{{}}$\[]+",
    re.IGNORECASE,
)
_QUOTED_TOKEN = re.compile(
    r"(token[\"']?\s{0,9}(?::=|=>|[:=])\s{0,9}([\"']))(?=[a-z0-9._~+/=-]{12,4000}\2)(?=[^\"']*\d)[^\"']+", re.IGNORECASE
)
_PARAMETER = re.compile(
    rf"((?:{_SECRETS}|pwd|access_token|auth_token)=)(?=[^\s&;\"',()\[\]]{{0,400}}\d)[^\s&;\"',()\[\]]{{4,4000}}",
    re.IGNORECASE,
)
_NAMED = (_SLACK_HOOK, _HEADER, _BEARER, _COOKIE, _URL, _NETRC, _FLAG, _VARIABLE, _QUOTED, _QUOTED_TOKEN, _PARAMETER)


def redact(text: str) -> str:
    """Replace secrets in a text: private keys, tokens by their form, values by their name, passwords in URLs.

    Redacting the result again changes nothing.
    """
    text = _BLOCK.sub(_between, text)
    text = _PUTTY.sub(_between, text)
    text = _FORMS.sub(REDACTED, text)
    for pattern in _NAMED:
        text = pattern.sub(_behind, text)
    return text


def _between(match: re.Match[str]) -> str:
    return f"{match[1]}\n{REDACTED}\n{match[2]}"


def _behind(match: re.Match[str]) -> str:
    return f"{match[1]}{REDACTED}"
