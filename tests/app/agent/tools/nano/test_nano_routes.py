"""Questions that are answered from the folder's index before the bundled model is asked, word for word."""

from contextlib import closing

import pytest

from laguna_engine.chat.messages import ToolCall
from laguna_tui.agent.changes import Changes
from laguna_tui.agent.tool_run import ToolRun
from laguna_tui.agent.tools.base.model_profile import Route
from laguna_tui.agent.tools.base.tool import ToolServices
from laguna_tui.agent.tools.nano.kinds import QuestionKind, read_kind, translated
from laguna_tui.agent.tools.nano.routes import WHICH_NAME, route
from laguna_tui.context.codebase import Codebase
from laguna_tui.repo.files.workspace import Workspace
from tests.app.approvers import YES

SHOP = {
    "README.md": "# Shop\n\nSells things.\n\n## Usage\n",
    "pyproject.toml": (
        '[project]\nname = "shop"\nversion = "1.2"\nrequires-python = ">=3.11"\n'
        'dependencies = ["httpx>=0.27"]\n\n[project.optional-dependencies]\ntest = ["pytest"]\n'
    ),
    "shop/errors.py": "class ShopError(Exception):\n    pass\n\n\nclass NoStock(ShopError):\n    pass\n",
    "shop/cart.py": (
        "from shop.errors import (\n    NoStock,\n)\nfrom shop.prices import parse_price\n\n\n"
        "class Cart:\n"
        '    """Hold what a customer buys."""\n\n'
        "    def __init__(self, owner, limit=3):\n        self.total = 0\n\n"
        "    def add_item(self, text):\n        if not text:\n            raise NoStock\n"
        "        return parse_price(text, strict=True)\n\n\n"
        "class GiftCart(Cart):\n    def wrap_present(self):\n        return self.add_item('paper')\n"
    ),
    "shop/prices.py": "def parse_price(text, strict=False):\n    return float(text)\n",
    "tests/test_cart.py": "from shop.cart import GiftCart\n\n\ndef test_gift():\n    assert GiftCart('A').total == 0\n",
    "web/cart.js": "export function drawCart(cart, { animate = true } = {}) {\n  return cart.items\n}\n",
    "web/cart.go": "package web\n\nfunc DrawCart(items []string) error {\n\treturn nil\n}\n",
    "web/stubs.pyi": "def parse_price(text: str, strict: bool = ...) -> float: ...\n",
}
CART = "`Cart shop/cart.py:7` `class Cart:`"
CONSTRUCTOR = "`Cart.__init__ shop/cart.py:10` `def __init__(self, owner, limit=3):`"
ADD = "`add_item shop/cart.py:13` `def add_item(self, text):`"
STUB = "`parse_price web/stubs.pyi:1` `def parse_price(text: str, strict: bool = ...) -> float:`"
PARSE = "`parse_price shop/prices.py:1` `def parse_price(text, strict=False):`"


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Ask about a small shop: returns the answer, the call that begins the turn, or None for the model's turn."""
    root = tmp_path_factory.mktemp("routes") / "shop"
    for path, text in SHOP.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    workspace = Workspace(root)
    run = ToolRun(workspace, 0, lambda event: None, lambda request: YES, lambda: False)
    with closing(Codebase(workspace.root)) as codebase:
        services = ToolServices(Changes(), codebase)

        def ask(question, *earlier):
            found = route(question, lambda: earlier, services, run)
            return found.answer or list(found.calls) if isinstance(found, Route) else None

        yield ask


ANSWERS = {
    "where is parse_price": f"Defined here:\n1. {PARSE}\n2. {STUB}",
    "Wo ist Cart definiert?": f"Defined here:\n1. {CART}",
    "parse_price 在哪里定义": f"Defined here:\n1. {PARSE}\n2. {STUB}",
    "谁调用了 parse_price": "Used here:\n1. `add_item shop/cart.py:16`",
    "wer ruft add_item auf?": "Used here:\n1. `wrap_present shop/cart.py:21`",
    "anything that tests GiftCart?": "Tested here:\n1. `test_gift tests/test_cart.py:5`",
    "where is Cart.add_item?": f"Defined here:\n1. {ADD}",
    "where is the add_item method of Cart": f"Defined here:\n1. {ADD}",
    "what is in shop/prices.py": f"`shop/prices.py` defines:\n1. {PARSE}",
    "where is parse_pirce": (
        f"Nothing is called `parse_pirce` here; the nearest name is `parse_price`.\nDefined here:\n1. {PARSE}\n"
        f"2. {STUB}"
    ),
    "where is the giftcart class": (
        "Nothing is called `giftcart` here; the nearest name is `GiftCart`.\n"
        "Defined here:\n1. `GiftCart shop/cart.py:19` `class GiftCart(Cart):`"
    ),
    "where is drawcart": (
        "Nothing is called `drawcart` here; the nearest name is `drawCart`.\n"
        "Defined here:\n1. `drawCart web/cart.js:1` `export function drawCart(cart, {animate = true} = {})`"
    ),
    "what does Cart take": f"Defined here:\n1. {CART}\n\nIts constructor:\n2. {CONSTRUCTOR}",
    "what do I pass to GiftCart?": (
        "Defined here:\n1. `GiftCart shop/cart.py:19` `class GiftCart(Cart):`\n\n"
        f"The constructor that it inherits:\n2. {CONSTRUCTOR}"
    ),
    "which methods does GiftCart have": (
        "`GiftCart` (`shop/cart.py:19`) has 1 member:\n"
        "1. `wrap_present shop/cart.py:20` `def wrap_present(self):`\n\nIt inherits from `Cart`."
    ),
    "who subclasses Cart": "1 class inherits from `Cart`:\n1. `GiftCart shop/cart.py:19` `class GiftCart(Cart):`",
    "which exceptions are there?": (
        "Exceptions defined here, 2 in all:\n1. `ShopError shop/errors.py:1` `class ShopError(Exception):`\n"
        "2. `NoStock shop/errors.py:5` `class NoStock(ShopError):`"
    ),
    "list the gift carts": "Carts defined here, 1 in all:\n1. `GiftCart shop/cart.py:19` `class GiftCart(Cart):`",
    "where is `strict`?": (
        "`strict` is a parameter and not a definition of its own; 2 functions have it:\n"
        f"1. {PARSE}\n2. {STUB}"
    ),
    "where is `total` set": (
        "`total` is not a definition of its own; it is set here:\n1. `__init__ shop/cart.py:11` `self.total = 0`"
    ),
    "who uses GiftCart": "No uses outside the tests; 1 in tests:\n1. `test_gift tests/test_cart.py:5`",
    "which tests cover parse_price": (
        "No uses in tests; 1 elsewhere:\n1. `add_item shop/cart.py:16`"
    ),
    "where is MoonLander": "Nothing is called `MoonLander` here: no line of 9 files has it.",
    "is there a changelog?": "No file here is a changelog by its name: 9 files searched.",
    "what version is this": 'The version:\n1. `pyproject.toml:3` `version = "1.2"`',
    "dependencies?": (
        "`pyproject.toml`, project.dependencies (1): `httpx>=0.27`.\n"
        "`pyproject.toml`, project.optional-dependencies.test (1): `pytest`."
    ),
    "what's in the README": (
        "`README.md` has 5 lines:\n1. `README.md:1` `# Shop`\n2. `README.md:5` `## Usage`"
    ),
    "where are the prices parsed?": (
        "Search results for “prices parsed”, best first:\n"
        "1. `parse_price shop/prices.py:1`"
    ),
    "price parsing": (
        "Search results for “price parsing”, best first:\n"
        "1. `parse_price shop/prices.py:1`"
    ),
    "where are the files of prices prased?": (
        "None of 9 files has the word `files`.\nSearch results for “prices parse”, best first:\n"
        "1. `parse_price shop/prices.py:1`"
    ),
    "is there a test for the cart": "1 test file, in `tests/`:\n1. `tests/test_cart.py`",
    "is there a test of gifts": "Search results for “test gifts”, best first:\n1. `test_gift tests/test_cart.py:4`",
    "is there an install guide": "No line about the installation guide in `README.md`.",
    "how do I find what wraps presents": (
        "Search results for “wraps presents”, best first:\n"
        "1. `GiftCart.wrap_present shop/cart.py:20`"
    ),
    "Wo wird die Limitgrenze für Kunden überprüft?": (
        "None of 9 files has the words `Kunden`, `überprüft`.\nSearch results for “limit”, best first:\n"
        "1. `Cart.__init__ shop/cart.py:10`"
    ),
    "where is parse_price applied?": (
        f"Defined here:\n1. {PARSE}\n2. {STUB}\n\nUsed here:\n3. `add_item shop/cart.py:16`"
    ),
    'where are prices like "cheap" parsed into text?': (
        "None of 9 files has the words `like`, `cheap`.\nSearch results for “prices parsed text”, best first:\n"
        "1. `parse_price shop/prices.py:1`"
    ),
    "wo wird GiftCart getestet": "Tested here:\n1. `test_gift tests/test_cart.py:5`",
    "在哪里解析 price": (
        "Search results for “parse price”, best first:\n"
        "1. `parse_price shop/prices.py:1` `def parse_price(text, strict=False):`"
    ),
    "does it support websockets": (
        "None of 9 files has the word `websockets`, so I am not sure where to look. Try the words that the code would"
        " use, in English."
    ),
}  # fmt: skip


@pytest.mark.parametrize("question", ANSWERS)
def test_an_answer_is_what_the_index_says(shop, question):
    answer = shop(question)
    if isinstance(answer, list):
        pytest.fail(f"it calls {answer}")
    assert "\n".join(answer.splitlines()[: ANSWERS[question].count("\n") + 1]) == ANSWERS[question]


def test_a_signature_ends_before_the_body_in_every_language(shop):
    heads = {
        "what does drawCart take": "`export function drawCart(cart, {animate = true} = {})`",
        "signature of DrawCart": "`func DrawCart(items []string) error`",
    }
    for question, head in heads.items():
        assert shop(f"{question} in web/{'cart.go' if 'D' in question else 'cart.js'}").endswith(head)


def test_a_name_of_an_earlier_question_is_meant_by_a_pronoun_or_an_ellipsis_alone(shop):
    assert shop("and its tests?", "where is GiftCart?") == "Tested here:\n1. `test_gift tests/test_cart.py:5`"
    assert shop("who calls it?", "and its tests?", "where is parse_price?") == (
        "Used here:\n1. `add_item shop/cart.py:16`"
    )
    assert shop("who calls it?", "is there a readme?", "where is parse_price?") == WHICH_NAME
    assert "parse_price" not in shop("where is the limit checked?", "where is parse_price?")
    assert shop("und wo ist es definiert?", "who calls add_item?") == f"Defined here:\n1. {ADD}"


def test_of_two_names_each_is_answered_and_of_two_questions_both(shop):
    both = shop("where are Cart and NoStock defined?")
    assert [line for line in both.splitlines() if line[:1].isdigit()] == [
        f"1. {CART}",
        "1. `NoStock shop/errors.py:5` `class NoStock(ShopError):`",
    ]
    assert shop("where is parse_price defined and who calls it?").splitlines()[-2:] == [
        "Used here:",
        "3. `add_item shop/cart.py:16`",
    ]


def test_what_it_cannot_do_is_one_sentence_with_the_nearest_places(shop):
    explains_not = "I can look code up, but I am too small to explain how or why it works. The nearest places:"
    assert shop("how does parse_price work?").splitlines() == [
        explains_not,
        f"1. {PARSE}",
        f"2. {STUB}",
        "3. `add_item shop/cart.py:16`",
    ]
    assert shop("why is parsing prices so slow?").splitlines()[0] == explains_not
    assert len(shop("why is parsing prices so slow?").splitlines()) <= 4
    assert shop("how do Cart and NoStock differ?").splitlines() == [
        explains_not,
        f"1. {CART}",
        "2. `NoStock shop/errors.py:5` `class NoStock(ShopError):`",
    ]


@pytest.mark.parametrize(
    "question", ["hello", "thanks!", "write me a web server", "add a docstring to parse_price", ""]
)
def test_small_talk_and_edits_of_docstrings_are_the_models(shop, question):
    assert shop(question) is None


def edits(old, new, *paths):
    return [ToolCall("edit", {"path": path, "old": old, "new": new, "all": True}) for path in paths]


def test_a_rename_is_made_where_the_name_is_defined_or_everywhere(shop):
    assert shop("rename add_item to add_line") == edits("add_item", "add_line", "shop/cart.py")
    assert shop("rename Cart to Basket in shop/cart.py") == edits("Cart", "Basket", "shop/cart.py")
    assert shop("rename NoStock to SoldOut everywhere") == edits("NoStock", "SoldOut", "shop/errors.py", "shop/cart.py")
    assert shop("rename parse_price to read_price") == (
        "I changed nothing: 2 files define `parse_price`: `shop/prices.py`, `web/stubs.pyi`."
        " Say in which one: rename parse_price to read_price in shop/prices.py"
    )


def test_cue_words_of_german_and_chinese_tell_the_kind():
    assert read_kind(translated("Welche Tests gibt es für {n}?")) is QuestionKind.TESTS
    assert read_kind(translated("{n} 有哪些方法")) is QuestionKind.MEMBERS
    assert read_kind(translated("Welche Klassen erben von {n}?")) is QuestionKind.SUBCLASSES
    assert read_kind(translated("Gibt es ein Änderungsprotokoll?")) is QuestionKind.FILES
