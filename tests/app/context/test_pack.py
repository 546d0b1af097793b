"""What a conversation begins with: a map and the best code, within its tokens, and the same bytes every time."""

import re

import pytest

from laguna_tui.base.messages import BlockKind, Place
from laguna_tui.context.attach import NOT_READY, Attacher, AttachOptions
from laguna_tui.context.codebase import Codebase
from laguna_tui.context.pack import MIN_TOKENS, best_spans, folder_map
from laguna_tui.context.source_files import SourceFiles
from laguna_tui.context.token_counter import CachedTokenCounter
from laguna_tui.repo.files.workspace import Workspace
from laguna_tui.repo.search.repository_map import estimated_tokens
from tests.app.repo.conftest import write

QUESTION = "how is the price of a cart rounded?"


@pytest.fixture
def sources(shop):
    return SourceFiles(Workspace(shop))


@pytest.fixture
def count():
    return CachedTokenCounter(estimated_tokens)


def packed(folder, codebase, question=QUESTION, room=4000, **options):
    attacher = Attacher(Workspace(folder), codebase, estimated_tokens, AttachOptions(**{"pack": 600, **options}))
    return attacher.gather(question, room, first=True)


def test_the_map_names_files_and_definitions_with_their_lines(codebase, count):
    found = folder_map(codebase, 400, count)
    assert (found.kind, found.path, found.place) == (BlockKind.MAP, "", Place.KEPT)
    assert "shop/prices.py\n    4 class PriceList\n" in found.text
    assert found.at(Place.DROPPED).text == "[left out: map of the folder]\n"
    assert found.certain


def test_a_slow_model_is_given_less_unasked(shop, codebase):
    def tokens(seconds_a_token):
        gathered = packed(shop, codebase, reading_s=lambda tokens: tokens * seconds_a_token)
        return sum(estimated_tokens(each.text) for each in gathered.attachments)

    assert tokens(0.001) > tokens(0.01) > tokens(10.0) == 0


def test_the_size_stays_as_it_was_decided_when_the_speed_changes(shop, codebase):
    speed = [None]
    options = AttachOptions(pack=600, reading_s=lambda tokens: speed[0] and tokens * speed[0])
    attacher = Attacher(Workspace(shop), codebase, estimated_tokens, options)

    def gathered(seconds_a_token):
        speed[0] = seconds_a_token
        return attacher.gather(QUESTION, 4000, first=True).attachments

    first, then, later = gathered(None), gathered(0.001), gathered(10.0)
    assert [each.text for each in first] == [each.text for each in then] == [each.text for each in later]


@pytest.mark.parametrize("budget", [100, 130, 200, 400])
def test_the_map_keeps_to_its_tokens_head_and_fence_included(codebase, count, budget):
    assert 0 < count(folder_map(codebase, budget, count).text) <= budget


def test_no_room_is_no_map(codebase, count):
    assert folder_map(codebase, MIN_TOKENS, count) is None


def test_the_best_code_comes_with_its_lines_exactly_as_they_stand(shop, codebase, sources, count):
    found = best_spans(codebase, sources, QUESTION, 500, count)
    assert [each.path for each in found][:2] == ["shop/cart.py", "shop/prices.py"]
    assert "return roundMoney(" in found[0].text
    assert "def roundMoney(amount):" in found[1].text
    for each in found:
        lines = (shop / each.path).read_text().split("\n")
        ranges = re.findall(r"(\d+)-(\d+)", each.text.split("\n")[0])
        body = "…\n".join("".join(f"{line}\n" for line in lines[int(a) - 1 : int(b)]) for a, b in ranges)
        assert each.text.split("\n", 2)[2].removesuffix("```\n") == body
        assert not each.certain


def test_a_file_stands_once_with_all_its_pieces_in_order(shop, codebase, sources, count):
    filler = "\n".join(f"filler_{number} = {number}" for number in range(80))
    text = f"def refund_first(order):\n    return order\n\n\n{filler}\n\n\ndef refund_last(order):\n    return order\n"
    write(shop, {"shop/refunds.py": text})
    codebase.refresh()
    assert codebase.wait(60)
    found = [each for each in best_spans(codebase, sources, "refund order", 500, count) if "refunds" in each.path]
    assert [each.title for each in found] == ["shop/refunds.py:1-2, 87-88"]
    assert "return order\n…\ndef refund_last" in found[0].text


@pytest.mark.parametrize("budget", [0, 20, 60, 100, 300])
def test_the_best_code_keeps_to_its_tokens(codebase, sources, count, budget):
    found = best_spans(codebase, sources, QUESTION, budget, count)
    assert sum(count(each.text) for each in found) <= budget


def test_who_names_what_the_question_is_about_gets_no_guesses(shop, codebase):
    titles = [each.title for each in packed(shop, codebase, f"{QUESTION} @shop/report.py").attachments]
    assert titles == ["map of the folder", "shop/report.py"]


def test_a_question_that_the_folder_knows_nothing_of_brings_only_the_map(shop, codebase):
    assert [each.kind for each in packed(shop, codebase, "zzqx?").attachments] == [BlockKind.MAP]


def test_the_map_stands_before_what_depends_on_the_question(shop, codebase):
    one, other = packed(shop, codebase), packed(shop, codebase, "show a CartView to the web")
    assert one.attachments[0] == other.attachments[0]
    assert one.attachments[0].kind is BlockKind.MAP
    assert one.attachments[1:] != other.attachments[1:]


def test_the_same_question_gives_the_same_bytes_in_another_session(shop, cache, codebase):
    first = packed(shop, codebase)
    with_own_index = Codebase(shop, cache.parent / "another cache")
    with_own_index.start()
    assert with_own_index.wait(60)
    assert packed(shop, with_own_index) == first
    with_own_index.close()


def test_the_map_follows_the_files(shop, codebase):
    attacher = Attacher(Workspace(shop), codebase, estimated_tokens, AttachOptions(pack=600))
    before = attacher.gather(QUESTION, 4000, first=True).attachments[0]
    assert attacher.gather("something else", 4000, first=True).attachments[0] is before
    write(shop, {"shop/vouchers.py": "class Voucher:\n    pass\n"})
    codebase.refresh()
    assert codebase.wait(60)
    assert "class Voucher" in attacher.gather(QUESTION, 4000, first=True).attachments[0].text


def test_only_the_first_message_brings_a_pack(shop, codebase):
    attacher = Attacher(Workspace(shop), codebase, estimated_tokens, AttachOptions(pack=600))
    assert attacher.gather(QUESTION, 4000).attachments == ()


def test_without_tokens_for_it_there_is_no_pack(shop, codebase):
    assert packed(shop, codebase, pack=0).attachments == ()


def test_the_pack_leaves_the_room_to_what_is_asked_for(shop, codebase):
    gathered = packed(shop, codebase, room=800, pack=4000)
    assert sum(estimated_tokens(each.text) for each in gathered.attachments) <= 400


def test_an_index_that_is_not_ready_in_time_is_no_reason_to_wait(shop, cache):
    never_started = Codebase(shop, cache)
    never_started.close()
    gathered = packed(shop, never_started, wait_s=0.01)
    assert gathered.attachments == ()
    assert gathered.notes == (NOT_READY,)


def test_a_file_that_is_gone_since_it_was_indexed_is_passed_over(shop, codebase, sources, count):
    (shop / "shop/prices.py").unlink()
    write(shop, {"shop/cart.py": "\n"})
    found = best_spans(codebase, sources, QUESTION, 500, count)
    assert {"shop/prices.py", "shop/cart.py"}.isdisjoint(each.path for each in found)
