"""The right unit comes first, and its place can be explained."""

import sqlite3
from array import array

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from laguna_tui.repo.files.relative_paths import is_secondary, is_test, path_stem
from laguna_tui.repo.search.issue_search import search_issue
from laguna_tui.repo.search.ranking import ALSO, BM25_ALONE, DEPTH, by_file, search
from laguna_tui.repo.search.reference_graph import ReferenceGraph, build_graph, load_graph, name_weight, store_graph
from laguna_tui.repo.search.reference_walk import near_files
from laguna_tui.repo.search.repository_map import estimated_tokens, repository_map
from laguna_tui.repo.search.retrieval import BY_NAME, BY_WORDS, parse_query
from laguna_tui.repo.search.symbol_search import find_symbols
from tests.app.repo.conftest import write


def first(index, text, **options):
    return search(index.connection, text, **options)[0].unit.title


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("ShoppingCart", "ShoppingCart"),
        ("shopping cart", "ShoppingCart"),
        ("where is the sum over all items computed?", "ShoppingCart.total_price"),
        ("cut an amount to whole cents", "roundMoney"),
        ("round_money", "roundMoney"),
        ("PriceList.lookup()", "PriceList.lookup"),
        ("refund paid back", "Refunds"),
    ],
)
def test_the_unit_that_was_meant_comes_first(index, question, title):
    assert first(index, question) == title


def test_a_score_is_the_product_of_its_factors(index):
    for found in search(index.connection, "ShoppingCart total price"):
        assert found.score == pytest.approx(np.prod(list(found.factors.values())))


def test_weights_of_zero_leave_bm25_alone(index):
    assert {
        name for found in search(index.connection, "total price", weights=BM25_ALONE) for name in found.factors
    } == {"bm25"}


def test_tests_come_later_unless_they_are_asked_for(index):
    assert first(index, "total price of a shopping cart") == "ShoppingCart.total_price"
    assert first(index, "test that the total price is rounded").startswith("test_total_price")


def test_a_definition_is_found_by_name_even_where_no_word_matches(index, shop):
    write(shop, {"odd.py": "def qzx(): pass\n"})
    index.refresh(workers=0)
    assert first(index, "qzx") == "qzx"


def test_what_holds_the_definition_of_a_name_is_found_by_it(index, shop):
    write(
        shop,
        {
            "shop/limits.py": "ITEMS_PER_CART = 9\nclass Limits:\n    MAX_DISCOUNT = 3\n",
            "shop/sale.py": "def sell(cart):\n    def each_item(item): return item\n    return each_item(cart)\n",
            "shop/uses.py": "def items_per_cart_of(max_discount, each_item):\n    return MAX_DISCOUNT\n",
        },
    )
    index.refresh(workers=0)
    assert search(index.connection, "ITEMS_PER_CART")[0].unit.path == "shop/limits.py"
    assert first(index, "Limits.MAX_DISCOUNT") == "Limits"
    assert first(index, "where is each_item defined?") == "sell"
    assert all("definition" in search(index.connection, asked)[0].factors for asked in ("ITEMS_PER_CART", "each_item"))
    assert search(index.connection, "ITEMS_PER_CART")[0].factors["title"] == 2.0


def test_a_name_that_is_spelled_out_is_found_before_units_that_have_its_words(index, shop):
    others = "".join(f"def price_list_{way}(price_list, item): return price_list\n" for way in ("sum", "of", "for"))
    write(shop, {"shop/price_list.py": others})
    index.refresh(workers=0)
    assert first(index, "price list") == "PriceList"
    assert first(index, "how is the price list kept") == "PriceList"
    assert "definition" not in search(index.connection, "list every price")[0].factors


@pytest.mark.parametrize(
    ("asked", "name"), [("read the configuration", "read_cfg"), ("stop the conn", "stop_connection")]
)
def test_what_has_another_form_of_a_word_is_found_by_it(index, shop, asked, name):
    write(shop, {"shop/setup.py": f"def {name}(): pass\ndef read_line(): pass\ndef stop_sale(): pass\n"})
    index.refresh(workers=0)
    assert first(index, asked) == name


def test_a_word_itself_counts_more_than_another_form_of_it(index, shop):
    write(shop, {"shop/setup.py": "def cfg_state(): pass\ndef config_state(): pass\n"})
    index.refresh(workers=0)
    assert first(index, "config state") == "config_state"
    assert first(index, "cfg state") == "cfg_state"


def test_a_files_name_counts_less_in_a_longer_question_but_where_nothing_else_has_a_name(index, shop):
    write(shop, {"shop/vouchers.nim": "proc redeem(cart: Cart) = discard\n"})
    index.refresh(workers=0)

    def factor(question, path):
        found = [result for result in search(index.connection, question) if result.unit.path == path]
        return found[0].factors.get("stem", 1.0)

    assert factor("report", "shop/report.py") == 1.5
    assert 1.0 < factor("report the carts of a month", "shop/report.py") < 1.2
    assert factor("carts of a month", "shop/report.py") == 1.0
    assert factor("redeem vouchers for the whole cart", "shop/vouchers.nim") == 1.5


@pytest.mark.parametrize("question", ["", "???", '" OR *', "NEAR(", "zzqqx", "x" * 5000, "\0", "a AND (b"])
def test_no_question_is_a_fault(index, question):
    assert isinstance(search(index.connection, question), list)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.text(max_size=300) | st.lists(st.sampled_from("Cart.total price :: -> () ` \" 'x' _ 9 shop/cart.py:3".split()))
)
def test_whatever_is_asked_gives_results_in_order(index, asked):
    text = asked if isinstance(asked, str) else " ".join(asked)
    for ranked in (search(index.connection, text), search_issue(index.connection, text)):
        scores = [found.score for found in ranked]
        assert scores == sorted(scores, reverse=True)
        assert all(0.0 < score < float("inf") for score in scores)


def test_a_qualified_name_finds_its_own_definition_first(index, shop):
    others = "".join(f"class Other{number}:\n    def lookup(self, item): return item\n" for number in range(9))
    write(shop, {"shop/lookup.py": others})
    index.refresh(workers=0)
    for asked in ("PriceList.lookup", "what does PriceList.lookup() return", "PriceList::lookup"):
        assert first(index, asked) == "PriceList.lookup"


def test_a_qualified_name_is_found_among_more_namesakes_than_are_ranked(index, shop):
    number = BY_WORDS + BY_NAME
    others = {f"aaa/other{at}.py": f"class Other{at}:\n    def lookup(self): pass\n" for at in range(number)}
    write(shop, others)
    index.refresh(workers=0)
    assert first(index, "PriceList.lookup") == "PriceList.lookup"
    assert first(index, f"Other{number - 1}.lookup()") == f"Other{number - 1}.lookup"


def test_further_units_of_a_file_and_what_only_declares_come_later(index, shop):
    header = "int count_pages(int book);\n"
    write(shop, {"c/pages.h": header, "c/pages.c": "int count_pages(int book)\n{\n    return book;\n}\n"})
    index.refresh(workers=0)
    found = search(index.connection, "count pages")
    assert [result.unit.path for result in found[:2]] == ["c/pages.c", "c/pages.h"]
    assert found[1].factors["declares"] == 0.5
    again = [found for found in search(index.connection, "shop price cart") if found.unit.path == "shop/cart.py"]
    assert sorted((found.factors.get("repeats", 1.0) for found in again), reverse=True)[:2] == [1.0, 0.5]


def test_a_file_with_several_matches_is_lifted_as_a_whole(index):
    found = search(index.connection, "price cart", DEPTH)
    lifts = {}
    for result in found:
        lifts.setdefault(result.unit.path, set()).add(result.factors["coherence"])
    assert all(len(factors) == 1 for factors in lifts.values())
    assert min(min(factors) for factors in lifts.values()) > 1.0


def test_the_next_units_of_a_file_are_shown_with_its_best_one(index, shop):
    write(shop, {"shop/refund.py": "".join(f"def refund_{at}(order): return order\n\n" for at in range(9))})
    index.refresh(workers=0)
    found = search(index.connection, "refund order", DEPTH)
    places = by_file(found, 100)
    assert sorted(r.unit.unit for place in places for r in (place.best, *place.also)) == sorted(
        result.unit.unit for result in found
    )
    own = [place for place in places if place.best.unit.path == "shop/refund.py"]
    assert len(own) == 1 + 9 - 1 - ALSO
    assert [len(place.also) for place in own] == [ALSO] + [0] * (len(own) - 1)
    assert {r.unit.path for r in own[0].also} == {"shop/refund.py"}
    scores = [place.best.score for place in places]
    assert scores == sorted(scores, reverse=True)
    assert by_file(found, 2) == places[:2]
    assert by_file([]) == []


def test_words_that_are_everywhere_are_still_found(index, shop, monkeypatch):
    monkeypatch.setattr("laguna_tui.repo.search.best_units.LISTED_POSTINGS", 1)
    monkeypatch.setattr("laguna_tui.repo.search.bm25.SCORED_POSTINGS", 1)
    assert search(index.connection, "shop cart")
    assert first(index, "shop refund") == "Refunds"


def test_a_walk_stays_near_its_start():
    # 0 -> 1 -> 2, 3 -> 2
    graph = ReferenceGraph(
        np.array([10, 11, 12, 13]),
        np.array([0, 1, 3], np.int32),
        np.array([1, 2, 2], np.int32),
        np.ones(3, np.float32),
        np.zeros(4, np.float32),
    )
    rank = graph.personalised(graph.nodes({10: 1.0, 99: 1.0}))
    assert rank.sum() == pytest.approx(1.0, abs=1e-5)
    assert rank[0] > rank[1] > rank[2] > rank[3] == 0.0
    assert graph.values(rank, [11, 99]).keys() == {11}


def test_a_graph_comes_back_from_its_tables(index):
    graph = build_graph(index.connection)
    store_graph(index.connection, graph)
    again = load_graph(index.connection)
    assert all(np.array_equal(left, right) for left, right in zip(graph, again, strict=True))
    index.connection.execute("update graph set targets = cast(x'01' as blob) where length(targets) > 0")
    for read in (load_graph, lambda connection: near_files(connection, dict.fromkeys(graph.files.tolist(), 1.0))):
        with pytest.raises(sqlite3.DatabaseError, match="the references of the index are damaged"):
            read(index.connection)
    index.connection.execute("delete from graph")
    assert len(load_graph(index.connection).files) == 0


def test_an_exception_of_a_signal_handler_comes_out_of_the_making_of_a_graph_as_it_is(index, monkeypatch):
    def interrupted(_name):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("laguna_tui.repo.search.reference_graph.name_weight", interrupted)
        with pytest.raises(KeyboardInterrupt):
            build_graph(index.connection)
    assert len(build_graph(index.connection).source) > 0


def test_the_walk_of_a_question_comes_to_what_the_whole_graph_says(index):
    graph = load_graph(index.connection)
    for start in ({1: 1.0}, {2: 3.0, 5: 1.0}, {1: 1.0, 99: 4.0}):
        near = near_files(index.connection, start)
        expected = graph.values(graph.personalised(graph.nodes(start), 4), graph.files.tolist())
        assert near == pytest.approx({file: value for file, value in expected.items() if value}, abs=1e-5)
    assert near_files(index.connection, {99: 1.0}) == near_files(index.connection, {}) == {}


def test_what_holds_next_to_nothing_of_a_walk_hands_nothing_on(index):
    row = "insert or replace into graph (file, rank, targets, weights) values (?, 0, ?, ?)"
    for file, targets in ((1, range(2, 20_002)), (2, [30_000]), (3, [30_000])):
        weights = [1.0 / len(targets)] * len(targets)
        index.connection.execute(row, (file, array("q", targets).tobytes(), array("f", weights).tobytes()))
    near = near_files(index.connection, {1: 1.0})
    assert 2 in near
    assert 30_000 not in near


def test_what_is_referred_to_ranks_above_what_refers(index):
    graph = load_graph(index.connection)
    ids = dict(index.connection.execute("select path, id from files"))
    rank = graph.values(graph.rank, ids.values())
    assert rank[ids[b"shop/prices.py"]] > rank[ids[b"shop/report.py"]]


def test_names_of_the_language_say_nothing():
    assert name_weight("append") < name_weight("_private_name") < name_weight("PriceList")


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("PriceList", "PriceList"),
        ("price_list", "PriceList"),
        ("shop.prices.roundMoney", "roundMoney"),
        ("PriceList.lookup", "PriceList.lookup"),
        ("ShopC", "ShoppingCart"),
        ("mrep", "monthly_report"),
    ],
)
def test_a_definition_is_found_by_its_name_or_some_of_its_letters(index, wanted, name):
    assert find_symbols(index.connection, wanted)[0].qualified == name


@pytest.mark.parametrize("wanted", ["", "%", "_", "!", "nothing like it", "'; drop table"])
def test_odd_names_find_nothing(index, wanted):
    assert all("_" in found.name for found in find_symbols(index.connection, wanted))


@pytest.mark.parametrize("budget", [20, 40, 80, 1000])
def test_a_map_keeps_to_its_budget(index, budget):
    made = repository_map(index.connection, budget)
    assert made.tokens == estimated_tokens(made.text) <= budget
    assert made.shown <= made.known


def test_a_map_shows_more_of_what_is_used_and_leaves_out_what_is_in_focus(index):
    assert "roundMoney" in repository_map(index.connection, 30).text
    focused = repository_map(index.connection, 1000, ["shop/cart.py"]).text
    assert "shop/prices.py" in focused
    assert "shop/cart.py" not in focused


def test_a_map_counts_with_the_counter_it_is_given(index):
    assert repository_map(index.connection, 3, count=lambda text: len(text.split("\n"))).shown == 1


def test_what_a_question_is_made_of():
    question = parse_query("where does parse_config call `load` in engine.open()?")
    assert question.names == ("parse_config", "load", "open")
    assert "where" not in question.words
    assert parse_query("the").words == ("the",)


@pytest.mark.parametrize(
    "path",
    """tests/test_a.py src/foo.test.ts a/__tests__/b.js pkg/foo_test.go conftest.py testing/test_mark.py test/a.py
    pkg/test/test_a.py src/test/java/A.java packages/a/test/b.js spec/a_spec.rb A.Tests/B.cs app/tests.py test.py
    lib/test.js tests/fixtures/a.py pkg/tests/helpers.py a/test_b.py pkg/mock_store.go e2e-tests/a.ts""".split(),
)
def test_paths_of_tests(path):
    assert is_test(path)


@pytest.mark.parametrize(
    "path",
    """src/latest.py contest/x.py attest.go click/testing.py src/flask/testing.py numpy/testing/_private/utils.py
    django/test/client.py _pytest/fixtures.py unittest/mock.py fsspec/spec.py werkzeug/test.py aiohttp/test_utils.py
    src/spec.rs testing.go""".split(),
)
def test_paths_that_only_sound_like_tests_or_serve_those_of_others(path):
    assert not is_test(path)


def test_paths_aside_and_stems():
    assert is_secondary("src/compat/x.py")
    assert not is_secondary("src/compatible.py")
    assert [path_stem(path) for path in ("a/b.py", "pkg/__init__.py", "ui/index.test.ts")] == ["b", "pkg", "ui"]
