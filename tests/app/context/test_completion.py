"""What is offered while a mention is typed: what people expect from an editor, and always something that resolves."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from laguna_tui.context.codebase import Codebase
from laguna_tui.context.completion import LIMIT, completions
from laguna_tui.context.mentions import mentions
from laguna_tui.context.resolve import Resolved, resolve
from laguna_tui.repo.files.workspace import Workspace
from tests.app.repo.conftest import write

LONG_S = 60.0
FILES = {
    "README.md": "# Shop\n",
    "shop/cart.py": "class Cart:\n    def clear(self): pass\n\n    def total(self): pass\n\n\ndef open_cart(): pass\n",
    "shop/shopping_cart_view.py": "class ShoppingCartView:\n    def render(self): pass\n",
    "shop/discard.py": "def discard(): pass\n",
    "shop/models/user.py": "class Config: pass\n",
    "shop/models/admin.py": "class Config: pass\n",
    "tests/test_cart.py": "def test_cart_is_empty(): pass\n",
    "with blank/a b.py": "x = 1\n",
    "app/[id]/page.tsx": "export function Page() { return null }\n",
    "context/codebase.py": "class Codebase: pass\n",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("completed")
    write(root, FILES)
    return root


@pytest.fixture(scope="module")
def codebase(root, tmp_path_factory):
    opened = Codebase(root, tmp_path_factory.mktemp("cache"))
    opened.start()
    assert opened.wait(LONG_S)
    yield opened
    opened.close()


def offered(codebase, typed, **options):
    """What the mention becomes, for each completion."""
    return [found.insert for found in completions(codebase, typed, len(typed), **options)]


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("@cart", "@shop/cart.py "),
        ("@CART.PY", "@shop/cart.py "),
        ("see @ca", "@shop/cart.py "),
        ("@Cart", "@Cart "),
        ("@scv", "@shop/shopping_cart_view.py "),
        ("@SCV", "@ShoppingCartView "),
        ("@view", "@shop/shopping_cart_view.py "),
        ("@readme", "@README.md "),
        ("@mod", "@shop/models/"),
        ("@shop/", "@shop/models/"),
        ("@shop/c", "@shop/cart.py "),
        ("@models/u", "@shop/models/user.py "),
        ("@sh/mo/us", "@shop/models/user.py "),
        ("@ctxcode", "@context/codebase.py "),
        ("@Cart.", "@Cart.clear "),
        ("@Cart.to", "@Cart.total "),
        ("@open", "@open_cart "),
        ("@a b", None),
        ('@"a b', '@"with blank/a b.py" '),
        ("@page", "@app/[id]/page.tsx "),
        ("@app/[", "@app/[id]/"),
        ("@with", '@"with blank/'),
        ('@"with blank/', '@"with blank/a b.py" '),
        ("@zzz", None),
    ],
)
def test_what_was_meant_is_offered_first(codebase, typed, first):
    found = offered(codebase, typed)
    assert (found[0] if found else None) == first


def test_names_that_begin_so_come_before_words_and_words_before_letters(codebase):
    files = [insert for insert in offered(codebase, "@car", limit=20) if "." in insert and "/" in insert]
    assert files == ["@shop/cart.py ", "@shop/shopping_cart_view.py ", "@tests/test_cart.py ", "@shop/discard.py "]


def test_an_empty_mention_offers_what_was_mentioned_lately_and_then_the_folder_itself(codebase):
    found = offered(codebase, "@", recent=["shop/discard.py", "gone.py", "shop/cart.py"])
    assert found[:2] == ["@shop/discard.py ", "@shop/cart.py "]
    assert set(found[2:]) == {"@README.md ", "@app/", "@context/", "@shop/", "@tests/", '@"with blank/'}


def test_among_equals_what_was_mentioned_lately_comes_first(codebase):
    assert offered(codebase, "@shop/models/")[0] == "@shop/models/admin.py "
    assert offered(codebase, "@user", recent=["shop/models/user.py"])[0] == "@shop/models/user.py "
    plain = offered(codebase, "@c", limit=20)
    lately = offered(codebase, "@c", limit=20, recent=["context/codebase.py"])
    assert plain.index("@context/codebase.py ") > lately.index("@context/codebase.py ")


def test_a_name_with_several_meanings_is_offered_by_its_places(codebase):
    assert offered(codebase, "@Config") == ["@shop/models/admin.py:1 ", "@shop/models/user.py:1 "]


def test_a_completion_replaces_the_mention_and_says_what_it_is(codebase):
    text = "compare @Car and more"
    (cart, *_) = completions(codebase, text, len("compare @Car"))
    assert (cart.start, cart.insert, cart.label, cart.detail) == (8, "@Cart", "Cart", "type shop/cart.py:1")


@pytest.mark.parametrize(
    "typed", ["", "no mention", "ada@ca", "@cart.py done", "@shop/cart.py:1", "@cart.py#L3", "```\n@cart"]
)
def test_nothing_is_offered_where_no_mention_is_typed(codebase, typed):
    assert offered(codebase, typed) == []


def test_before_anything_is_known_nothing_is_offered(root, tmp_path):
    assert offered(Codebase(root, tmp_path), "@cart") == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.sampled_from('carCART.s/sho_"[ ]mdoé\\^-:1'), max_size=8), st.booleans())
def test_whatever_is_offered_resolves(root, codebase, letters, quoted):
    typed = f"see @{chr(34) * quoted}{letters}"
    for found in completions(codebase, typed, len(typed)):
        text = typed[: found.start] + found.insert
        closed = f'{text}"' if found.insert.startswith('@"') and not found.insert.endswith(('" ', '"')) else text
        (mention,) = mentions(closed)
        assert isinstance(resolve(mention, codebase, Workspace(root)), Resolved), found
    assert len(completions(codebase, typed, len(typed))) <= LIMIT
