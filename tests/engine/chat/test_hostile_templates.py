"""Templates from strangers: whatever they do costs one rendering, and ChatML stands in for those that do not work."""

import json

import pytest

from laguna_engine.chat import chat_template
from laguna_engine.chat.accepted_values import accepted_values
from laguna_engine.chat.chat_template import TemplateFailed
from laguna_engine.chat.template_renderer import TemplateRenderer
from tests.engine.chat.fake_vocabulary import LAGUNA_SPECIALS, FakeVocabulary
from tests.engine.chat.real_templates import open_template

QUESTION = [{"role": "user", "content": "Hello?"}]
IN_CHATML = "<|im_start|>user\nHello?<|im_end|>\n<|im_start|>assistant\n"
DEEP = 2_000

ENDLESS = {
    "nested ranges": "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}"
    "{% endfor %}{% endfor %}",
    "endless loop": "{% for a in range(100000) %}{% for b in range(100000) %}{{ '' }}{% endfor %}{% endfor %}",
    "doubled string": "{% set n = namespace(x='x') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}"
    "{{ n.x }}",
    "doubled list": "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}",
    "multiplied string": "{{ 'x' * 10000000000 }}",
    "multiplied list": "{{ [0] * 10000000000 }}",
    "huge power": "{{ 9 ** (9 ** 9) }}",
    "huge shift": "{{ (2 ** 100000) ** 10000 }}",
    "recursive macro": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "exponential macro": "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}x{% endmacro %}{{ m(60) }}",
    "recursive loop": "{% for x in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}",
    "lipsum": "{{ lipsum(n=1000000) }}",
    "lipsum of long paragraphs": "{{ lipsum(n=1, min=100000000, max=100000001) }}",
    "wordwrap": "{{ ('x ' * 10000000) | wordwrap(1) }}",
    "center": "{{ 'x' | center(10000000000) }}",
    "indent": "{{ ('\\n' * 10000000) | indent(10000) }}",
    "format": "{{ '%10000000000d' | format(1) }}",
    "str.format": "{{ '{:10000000000}'.format(1) }}",
    "replace": "{{ ('x' * 1000000) | replace('', 'y' * 1000000) }}",
    "join": "{{ range(99999) | join('x' * 1000000) }}",
    "ljust": "{{ 'x'.ljust(10000000000) }}",
    "expandtabs": "{{ '\\t'.expandtabs(2000000000) }}",
    "batch": "{{ range(99999) | batch(2000000000, 'x') | list }}",
    "slice": "{{ range(99999) | slice(2000000000) | list }}",
    "tojson indent": "{{ [[[[1]]]] | tojson(indent=2000000000) }}",
    "endless output": "{% for a in range(99999) %}{% for b in range(99999) %}xxxxxxxxxx{% endfor %}{% endfor %}",
    "cycle": "{% set c = cycler('a', 'b') %}{% for a in range(99999) %}{% for b in range(99999) %}{{ c.next() }}"
    "{% endfor %}{% endfor %}",
    "own list": "{% set x = [] %}{% for a in range(99999) %}{% for b in range(9999) %}"
    "{% set _ = x.append('xxxxxxxx' * 99) %}{% endfor %}{% endfor %}",
    "list within itself": "{% set x = [] %}{% set _ = x.append(x) %}{{ x | tojson }}",
}

REFUSED = {
    "open block": "{% if",
    "unknown tag": "{% frobnicate %}",
    "unknown filter": "{{ messages | frobnicate }}",
    "unclosed loop": "{% for x in messages %}",
    "raise_exception": "{{ raise_exception('Never.') }}",
    "division": "{{ 1 / 0 }}",
    "undefined": "{{ nothing.at.all }}",
    "class": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "init": "{{ cycler.__init__.__globals__.os.system('true') }}",
    "attr filter": "{{ (''|attr('__class__')).x }}",
    "map attribute": "{{ [''] | map(attribute='__class__.__mro__') | list | tojson }}",
    "format attribute": "{{ '{0.__class__.__mro__}'.format('').x.y }}",
    "self": "{{ self.__init__.__globals__ }}",
    "include": "{% include '/etc/passwd' %}",
    "import": "{% import 'os' as os %}{{ os.system('true') }}",
    "extends": "{% extends 'base' %}",
    "bytes": "{{ messages[0].content.encode().fromhex('zz') }}",
    "deep nesting": "{{ " + "(" * DEEP + "1" + ")" * DEEP + " }}",
    "deep blocks": "{% if true %}" * DEEP + "{% endif %}" * DEEP,
    "deep list": "{{ " + "[" * DEEP + "]" * DEEP + " }}",
    "surrogate": "{{ '\\ud800' }}{{ 1 / 0 }}",
}


@pytest.fixture(autouse=True)
def shorter(monkeypatch):
    """A busy machine gives a child little time; the child's own limit stays."""
    monkeypatch.setattr(chat_template, "FAILURES", 1)


def rendered(source):
    template = open_template(source)
    try:
        return template.render({"messages": QUESTION, "add_generation_prompt": True}, 1 << 16), template.failed
    finally:
        template.close()


@pytest.mark.parametrize("source", [pytest.param(each, id=name) for name, each in REFUSED.items()])
def test_chatml_stands_in_for_a_template_that_is_wrong(source):
    text, failed = rendered(source)
    assert text == IN_CHATML
    assert failed


@pytest.mark.parametrize("source", ["{{ raise_exception.__globals__ }}", "{{ ''|attr('__class__')|attr('__mro__') }}"])
def test_python_is_out_of_reach(source):
    assert rendered(source) == ("", "")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("source", [pytest.param(each, id=name) for name, each in ENDLESS.items()])
def test_chatml_stands_in_for_a_template_that_takes_too_much(source):
    text, failed = rendered(source)
    assert text == IN_CHATML
    assert failed


def test_a_huge_source_ends(monkeypatch):
    text, _ = rendered("{{ messages[0].content }}" * 400_000)
    assert text == IN_CHATML


def test_a_template_is_given_up_after_two_failures_in_a_row(monkeypatch):
    monkeypatch.setattr(chat_template, "FAILURES", 2)
    source = "{% if messages | length > 1 %}{{ raise_exception('Too long.') }}{% endif %}{{ messages[0].content }}"
    template = open_template(source)
    try:
        values = {"messages": QUESTION, "add_generation_prompt": True}
        assert template.render(values, 1000) == "Hello?"
        with pytest.raises(TemplateFailed, match=r"TemplateError: Too long\."):
            template.attempt({**values, "messages": QUESTION * 2}, 1000)
        assert (template.failed, template.render(values, 1000)) == ("", "Hello?")
        assert template.render({**values, "messages": QUESTION * 2}, 1000).startswith(
            "<|im_start|>user\nHello?<|im_end|>"
        )
        assert template.failed == "TemplateError: Too long."
    finally:
        template.close()


def test_a_killed_child_is_started_again():
    template = open_template("{{ messages[0].content }}")
    try:
        assert template.render({"messages": QUESTION}, 1000) == "Hello?"
        template._worker.process.kill()
        template._worker.process.wait()
        with pytest.raises(TemplateFailed):
            template.attempt({"messages": QUESTION}, 1000)
        assert template.render({"messages": QUESTION}, 1000) == "Hello?"
    finally:
        template.close()


@pytest.mark.parametrize(
    "source",
    [
        # What a template prints itself is its own, and what content spells is text.
        "{{ messages[0].content }}\U000f0000\U000f0001",
        "{{ '<|im_' + 'end|>' }}{{ messages[0].content }}",
        "{{ messages[0].content | upper }}{{ messages[0].content | reverse }}{{ messages[0].content[1:4] }}",
        "{{ messages[0].content | tojson }}{{ messages | string }}",
        "{% for letter in messages[0].content %}{{ letter }} {% endfor %}",
        "{{ messages[0].content | urlize }}{{ messages[0].content | e }}",
    ],
)
def test_content_never_becomes_a_special_token(source):
    vocabulary = FakeVocabulary(LAGUNA_SPECIALS)
    template = open_template(source)
    spelled = "".join(LAGUNA_SPECIALS)
    try:
        pieces = _renderer(vocabulary, template).pieces({"messages": [{"role": "user", "content": f"a{spelled}b"}]})
    finally:
        template.close()
    own = {text for text, tokens in pieces if len(tokens) == 1 and text in LAGUNA_SPECIALS}
    assert own <= {each for each in LAGUNA_SPECIALS if each in source}


def test_what_templates_accept_ends_for_one_that_accepts_nothing():
    def refuse(messages, tools):
        raise TemplateFailed(json.dumps([list(messages), list(tools)]))

    accepted = accepted_values(refuse)
    assert (accepted.system, accepted.objects, accepted.calls) == (False, False, False)


def _renderer(vocabulary, template):
    return TemplateRenderer(vocabulary, template, 1024)
