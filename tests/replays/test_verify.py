"""Documents that are sound pass, and damaged ones fail with the right reason."""

# ruff: noqa: E501  # a row of a table of damages stays one line

import copy
import io
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.replays.games import SECRET, random_record, random_records
from tournament import seeds, verify
from tournament.cli import make_app
from tournament.cli_common import Refused
from tournament.game import End, FaultKind, Game
from tournament.replay import GameRecord, Player, ReplayError, digest, document, record_of, to_line
from tournament.rules import Rules

GAMES = 400

Document = dict[str, Any]


def played(rules: Rules, entrants: list[str], choose: Callable[[Any], Any]) -> Document:
    key = seeds.match_key(rules, entrants, 1)
    game = Game(rules, seeds.deal_seed(SECRET, key))
    legal = game.advance()
    while legal:
        game.act_legal(choose(legal))
        legal = game.advance()
    players = [
        Player(*(entrants[place].split(":")[0], int(entrants[place].split(":")[1])), "a" * 64)
        for place in seeds.seatings(rules, len(entrants))[0]
    ]
    record = GameRecord(key, 1, rules, seeds.deal_seed(SECRET, key), tuple(players), bytes(game.acts), game.faults)
    return document(record, game)


def highest(legal: Any) -> Any:
    return legal[-1]


@pytest.fixture(scope="module")
def wisconsin() -> Document:
    """A game with taken cards: seat after seat bids up, so that every deal is played."""
    return played(Rules.make("wisconsin", deal_limit=3, target=40), ["a:1", "b:2"], highest)


@pytest.fixture(scope="module")
def cutthroat() -> Document:
    return played(Rules.make("cutthroat", deal_limit=3), ["a:1", "b:2", "c:3"], highest)


@pytest.fixture(scope="module")
def thrown_in() -> Document:
    return played(Rules.make("cutthroat", players=2, redeal_limit=2), ["a:1", "b:2"], lambda legal: legal[0])


@pytest.fixture(scope="module")
def faulted() -> Document:
    """A game at three that the house plays on after a fault, ended by a second one."""
    rules = Rules.make("cutthroat", deal_limit=12)
    key = seeds.match_key(rules, ["a:1", "b:2", "c:3"], 1)
    game = Game(rules, seeds.deal_seed(SECRET, key))
    for number in range(90):
        legal = game.advance()
        assert game.deal is not None
        if number in (4, 60):
            game.fault(game.deal.seat, FaultKind.EXITED)
        elif legal:
            game.act_legal(legal[-1])
    assert game.outcome is not None
    assert game.outcome.second_fault is not None
    players = tuple(Player(name, version, None) for name, version in (("a", 1), ("b", 2), ("c", 3)))
    return document(
        GameRecord(key, 1, rules, seeds.deal_seed(SECRET, key), players, bytes(game.acts), game.faults), game
    )


def check(written: Document, secret: str | None = None) -> bool:
    return verify.check_document(verify.parse(to_line(written).encode()), secret)


def resigned(written: Document) -> Document:
    written["digest"] = digest(written)
    return written


def test_random_games_of_all_modes_and_options_pass_with_their_secret() -> None:
    ends = set()
    for record, game in random_records(GAMES):
        written = document(record, game)
        assert to_line(written) == to_line(document(record))
        assert check(written, SECRET)
        assert record_of(written) == record
        ends.add(written["result"]["end"])
    assert ends == set(End)


def test_a_document_without_a_seed_passes_and_says_that_the_shuffle_was_not_checked() -> None:
    for record, game in random_records(60, seed=2):
        written = document(record, game)
        written["seed"] = None
        assert check(resigned(written)) is False


def test_unknown_keys_are_ignored_but_covered_by_the_digest(cutthroat: Document) -> None:
    written = copy.deepcopy(cutthroat)
    written["note"] = {"by": "somebody", "weight": 0.5}
    written["deals"][0]["tricks"][0]["note"] = "well played"
    with pytest.raises(ReplayError, match=r"^digest"):
        check(written)
    check(resigned(written))


def swap(items: list[Any], one: int, other: int) -> None:
    items[one], items[other] = items[other], items[one]


def set_(*path: Any) -> Callable[[Document], None]:
    *holders, name, value = path

    def damage(written: Any) -> None:
        for step in holders:
            written = written[step]
        written[name] = value

    return damage


def drop(*path: Any) -> Callable[[Document], None]:
    *holders, name = path

    def damage(written: Any) -> None:
        for step in holders:
            written = written[step]
        del written[name]

    return damage


def do(action: Callable[[Document], object]) -> Callable[[Document], None]:
    def damage(written: Document) -> None:
        action(written)

    return damage


CUTTHROAT = [
    ("another format", set_("format", "smear-replay/2"), r"^format 'smear-replay/2', expected 'smear-replay/1'"),
    ("no format", drop("format"), r"^format is missing"),
    ("no rules", drop("rules"), r"^rules is missing"),
    ("a rule missing", drop("rules", "high"), r"^rules: missing in rules: high"),
    ("a rule of another game", set_("rules", "bidder_takes", 2), r"^rules: bidder_takes is 2: expected 0"),
    ("a target that is true", set_("rules", "target", True), r"^rules: target is True: expected a whole number"),
    ("a target with a fraction", set_("rules", "target", 11.0), r"^rules: target is 11.0"),
    ("an unknown win", set_("rules", "win", "first"), r"^rules: win is 'first'"),
    ("rules that are a list", set_("rules", []), r"^rules is an array, expected an object"),
    ("no match", drop("match"), r"^match is missing"),
    ("a key of another mode", set_("match", "key", "cutthroat/2/a:1,b:2,c:3/1"), r"^match: key .*expected cutthroat/3"),
    ("entrants unsorted", set_("match", "key", "cutthroat/3/b:2,a:1,c:3/1"), r"^match: key: entrants .*sorted"),
    ("an entrant without a version", set_("match", "key", "cutthroat/3/a,b:2,c:3/1"), r"'a' is no entrant"),
    ("a round with a leading zero", set_("match", "key", "cutthroat/3/a:1,b:2,c:3/01"), r"^match: key"),
    ("too many entrants", set_("match", "key", "cutthroat/3/a:1,b:2,c:3,d:4/1"), r"4 entrants at a table"),
    ("a seating that is none", set_("match", "seating", 7), r"^match: seating 7, expected 1 to 6"),
    ("another seating", set_("match", "seating", 2), r"^players: seat 1: 'b:2', expected c:3 in seating 2"),
    ("a player missing", do(lambda d: d["players"].pop()), r"^players: 2 of them, expected 3"),
    ("players in another order", do(lambda d: swap(d["players"], 0, 1)), r"^players: seat 0: seat 1, expected 0"),
    ("a version that is text", set_("players", 0, "version", "1"), r"^players: seat 0: version is a text"),
    ("a hash with capitals", set_("players", 0, "sha256", "A" * 64), r"^players: seat 0: sha256"),
    ("no seed", drop("seed"), r'^seed "", expected 64'),
    ("a short seed", set_("seed", "abc"), r'^seed "abc", expected 64'),
    ("another seed", set_("seed", "0" * 64), r"^deal 1/1: "),
    ("deals that are an object", set_("deals", {}), r"^deals is an object, expected an array"),
    ("a deal missing", do(lambda d: d["deals"].pop(1)), r"^deal 3/1: expected deal 2/1 here"),
    ("the last deal missing", do(lambda d: d["deals"].pop()), r"^deals: 2 of them, yet the game is not over"),
    ("a deal too many", do(lambda d: d["deals"].append(copy.deepcopy(d["deals"][-1]))), r"the game ended before it"),
    ("another dealer", do(lambda d: d["deals"][0].update(dealer=(d["deals"][0]["dealer"] + 1) % 3)), r"deal 1/1: dealer"),
    ("no such card", set_("deals", 0, "hands", 0, 0, "1S"), r'^deal 1/1: hand of seat 0: "1S" is no card'),
    ("a card that is a number", set_("deals", 0, "hands", 0, 0, 7), r"^deal 1/1: hand of seat 0: 7 is no card"),
    ("a card twice", do(lambda d: set_(0, d["deals"][0]["hands"][1][0])(d["deals"][0]["hands"][0])), r"are not the 52"),
    ("a hand of five", do(lambda d: d["deals"][0]["hands"][0].pop()), r"^deal 1/1: hand of seat 0: 5 cards"),
    ("two hands exchanged", do(lambda d: swap(d["deals"][1]["hands"], 0, 1)), r"^deal 2/1: shuffle: card 1 "),
    ("cards of a hand exchanged", do(lambda d: swap(d["deals"][0]["hands"][2], 0, 1)), r"^deal 1/1: shuffle: card 13"),
    ("undealt cards exchanged", do(lambda d: swap(d["deals"][0]["undealt"], 3, 4)), r"^deal 1/1: shuffle: card 22"),
    ("a bid out of turn", do(lambda d: set_("seat", 9)(d["deals"][0]["bids"][0])), r"^deal 1/1 bid 1: seat 9, expected"),
    ("a bid of five", set_("deals", 0, "bids", 0, "bid", 5), r"^deal 1/1 bid 1: bid 5: expected 0 to pass"),
    ("a pass that is null", set_("deals", 0, "bids", 0, "bid", None), r"^deal 1/1 bid 1: bid is null"),
    ("a bid too many", do(lambda d: d["deals"][0]["bids"].append(d["deals"][0]["bids"][0])), r"bid 2: expected a card"),
    ("another bidder", do(lambda d: set_("bidder", 9)(d["deals"][0])), r"^deal 1/1: bidder 9, expected"),
    ("another contract", set_("deals", 0, "bid", 3), r"^deal 1/1: bid 3, expected 4"),
    ("another trump", do(lambda d: set_("trump", "?")(d["deals"][2])), r'^deal 3/1: trump "\?", expected'),
    ("cards taken in Cutthroat", do(lambda d: set_("taken", d["deals"][0]["undealt"][:1])(d["deals"][0])), r": taken "),
    ("discards in Cutthroat", do(lambda d: set_("discards", ["2C"])(d["deals"][0])), r"^deal 1/1 discards: expected a card"),
    ("another leader", do(lambda d: set_("leader", 9)(d["deals"][0]["tricks"][3])), r"^deal 1/1 trick 4: leader 9, expec"),
    ("another winner", do(lambda d: set_("winner", 9)(d["deals"][2]["tricks"][3])), r"^deal 3/1 trick 4: winner 9, expec"),
    ("a winner missing", drop("deals", 0, "tricks", 0, "winner"), r"^deal 1/1 trick 1: winner is missing"),
    ("a trick without cards", set_("deals", 0, "tricks", 5, "cards", []), r"^deal 1/1 trick 6: no cards"),
    ("a card of another hand", do(lambda d: swap(d["deals"][0]["tricks"][0]["cards"], 0, 1)), r"trick 1: card .. ?: ?not|trick 1: card ..: not in"),
    ("a card short", do(lambda d: d["deals"][0]["tricks"][5]["cards"].pop()), r"^deal 1/1: it ends after 18 acts|^deal 1/1: it ends after"),
    ("another High", do(lambda d: set_("high", 9)(d["deals"][0]["points"])), r"^deal 1/1: points: high 9, expected"),
    ("a point missing", drop("deals", 0, "points", "jack"), r"^deal 1/1: points: jack is missing"),
    ("other card points", do(lambda d: set_(0, 79)(d["deals"][0]["card_points"])), r"^deal 1/1: card_points \[79"),
    ("another score", do(lambda d: set_(1, 99)(d["deals"][1]["scores"])), r"^deal 2/1: scores .*99"),
    ("scores missing", drop("deals", 1, "scores"), r"^deal 2/1: scores is missing"),
    ("another end", set_("result", "end", "target"), r'^result: end "target", expected "deal_limit"'),
    ("a winner after a limit", set_("result", "winner", 0), r"^result: winner 0, expected null"),
    ("other final scores", do(lambda d: set_(0, 99)(d["result"]["scores"])), r"^result: scores"),
    ("other places", set_("result", "places", [1, 1, 1]), r"^result: places \[1, 1, 1\], expected"),
    ("a fault that was none", set_("result", "fault", {"seat": 0, "kind": "exited", "deal": 2, "attempt": 1, "act": 0}), r"^deal 2/1 bid 1: the house plays seat 0"),
    ("an unknown kind of fault", set_("result", "fault", {"seat": 0, "kind": "late", "deal": 1, "attempt": 1, "act": 0}), r"^result: fault: kind 'late'"),
    ("a second fault alone", set_("result", "second_fault", {"seat": 0, "kind": "exited", "deal": 1, "attempt": 1, "act": 0}), r"second_fault without a fault"),
    ("faults not told", drop("result", "fault"), r"^result: fault is missing"),
    ("no result", drop("result"), r"^result is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "damage", "reason"), CUTTHROAT, ids=[name for name, _, _ in CUTTHROAT])
def test_a_damaged_document_is_refused_for_the_right_reason(
    name: str, damage: Callable[[Document], None], reason: str, cutthroat: Document
) -> None:
    written = copy.deepcopy(cutthroat)
    damage(written)
    with pytest.raises(ReplayError) as refused:
        check(resigned(written))
    assert re.search(reason, str(refused.value)), f"{name}: {refused.value}"


def test_the_damaged_kinds_are_at_least_forty() -> None:
    assert len({name for name, _, _ in CUTTHROAT}) >= 40


WISCONSIN = [
    ("other cards taken", do(lambda d: swap(d["deals"][0]["taken"], 0, 1)), r"^deal 1/1: taken "),
    ("no cards taken", set_("deals", 0, "taken", []), r"^deal 1/1: taken \[\], expected"),
    ("discards in another order", do(lambda d: swap(d["deals"][0]["discards"], 0, 1)), r"discards: discards are not in the order"),
    ("two discards", do(lambda d: d["deals"][0]["discards"].pop()), r"^deal 1/1 discards: discards .*expected 3 cards"),
    ("no discards", set_("deals", 0, "discards", []), r"^deal 1/1 trick 1: expected the discards"),
    ("a foreign discard", do(lambda d: set_(0, d["deals"][0]["undealt"][5])(d["deals"][0]["discards"])), r"^deal 1/1 discards"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "damage", "reason"), WISCONSIN, ids=[name for name, _, _ in WISCONSIN])
def test_damaged_taking_and_discarding_is_refused(
    name: str, damage: Callable[[Document], None], reason: str, wisconsin: Document
) -> None:
    check(wisconsin)
    written = copy.deepcopy(wisconsin)
    damage(written)
    with pytest.raises(ReplayError) as refused:
        check(resigned(written))
    assert re.search(reason, str(refused.value)), f"{name}: {refused.value}"


THROWN_IN = [
    ("the attempt not counted", set_("deals", 1, "attempt", 1), r"^deal 1/1: expected deal 1/2 here"),
    ("points of a thrown-in deal", set_("deals", 0, "points", {}), r"^deal 1/1: points, expected none"),
    ("scores of a thrown-in deal", set_("deals", 0, "scores", [0, 0]), r"^deal 1/1: scores, expected none"),
    ("a bidder of a thrown-in deal", set_("deals", 0, "bidder", 0), r"^deal 1/1: bidder 0, expected null"),
    ("a pass missing", do(lambda d: d["deals"][0]["bids"].pop()), r"^deal 1/1: it ends after 1 acts, expected a bid"),
]


@pytest.mark.parametrize(("name", "damage", "reason"), THROWN_IN, ids=[name for name, _, _ in THROWN_IN])
def test_damaged_thrown_in_deals_are_refused(
    name: str, damage: Callable[[Document], None], reason: str, thrown_in: Document
) -> None:
    check(thrown_in)
    written = copy.deepcopy(thrown_in)
    damage(written)
    with pytest.raises(ReplayError) as refused:
        check(resigned(written))
    assert re.search(reason, str(refused.value)), f"{name}: {refused.value}"


FAULTED = [
    ("the fault of another seat", do(lambda d: set_("seat", (d["result"]["fault"]["seat"] + 1) % 3)(d["result"]["fault"])), r"result: fault in deal"),
    ("the fault an act earlier", do(lambda d: set_("act", d["result"]["fault"]["act"] - 1)(d["result"]["fault"])), r"fault|the house plays|no choice"),
    ("the second fault left out", set_("result", "second_fault", None), r"it ends after|not over"),
    ("faults exchanged", do(lambda d: d["result"].update(fault=d["result"]["second_fault"], second_fault=d["result"]["fault"])), r"it ends after .* acts, expected a card"),
    ("the winner changed", do(lambda d: set_("winner", (d["result"]["winner"] + 1) % 3)(d["result"])), r"^result: winner"),
    ("a fault of loading in play", do(lambda d: set_("kind", "load")(d["result"]["fault"])), r"kind load, expected one that happens in play"),
    ("a fault of playing at load", do(lambda d: d["result"]["fault"].update(deal=1, attempt=1, act=-1, kind="illegal")), r"kind illegal, expected one that happens at load"),
    ("another kind at load", do(lambda d: d["result"]["fault"].update(act=-1)), r"at load it has deal 1|house plays|fault"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "damage", "reason"), FAULTED, ids=[name for name, _, _ in FAULTED])
def test_damaged_faults_are_refused(
    name: str, damage: Callable[[Document], None], reason: str, faulted: Document
) -> None:
    check(faulted)
    written = copy.deepcopy(faulted)
    damage(written)
    with pytest.raises(ReplayError) as refused:
        check(resigned(written))
    assert re.search(reason, str(refused.value)), f"{name}: {refused.value}"


def test_an_act_of_the_house_that_the_house_would_not_do_is_refused(faulted: Document) -> None:
    written = copy.deepcopy(faulted)
    seat = written["result"]["fault"]["seat"]
    later = [deal for deal in written["deals"] if deal["deal"] > written["result"]["fault"]["deal"]]
    bid = next(bid for deal in later for bid in deal["bids"] if bid["seat"] == seat)
    bid["bid"] = 4
    with pytest.raises(ReplayError, match=rf"the house plays seat {seat} and chooses 0, not 4"):
        check(resigned(written))


def test_the_seed_is_checked_against_the_secret(cutthroat: Document) -> None:
    assert check(cutthroat, SECRET)
    with pytest.raises(ReplayError, match=r"^seed [0-9a-f]{12}…, expected [0-9a-f]{12}… from the secret"):
        check(cutthroat, "another secret")


def test_a_gauntlet_is_checked_by_its_seed_key() -> None:
    rules = Rules.make("cutthroat", players=2, deal_limit=2)
    seed_key = "cutthroat/2/*,simple:1/4"
    seed = seeds.deal_seed(SECRET, seed_key)
    game = Game(rules, seed)
    legal = game.advance()
    while legal:
        game.act_legal(legal[-1])
        legal = game.advance()
    # `*` sorts before `simple`, but the candidate's own name behind it: the seating counts from `*`.
    players = (Player("zed", 3, None), Player("simple", 1, None))
    record = GameRecord("cutthroat/2/simple:1,zed:3/4", 1, rules, seed, players, bytes(game.acts), (), seed_key)
    written = document(record)
    assert check(written, SECRET)
    for wrong in ("cutthroat/2/*,simple:1/5", "cutthroat/2/simple:1,zed:3/4", "cutthroat/2/*,other:1/4"):
        damaged = copy.deepcopy(written)
        damaged["match"]["seed_key"] = wrong
        with pytest.raises(ReplayError, match=r"^match: seed_key"):
            check(resigned(damaged), SECRET)


MALFORMED = [
    (b"[1]", "malformed: an array, expected an object"),
    (b"{", "malformed: Expecting property name"),
    (b'{"a":1,"a":2}', "key 'a' occurs twice"),
    (b'{"a":NaN}', "NaN is no JSON number"),
    (b'{"a":-Infinity}', "-Infinity is no JSON number"),
    (b"\xff\xfe{}", "not UTF-8 at byte 0"),
    (b'{"a":' + b"9" * 5000 + b"}", "malformed: a number of 5000 digits, expected at most 4300"),
    (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
    (b"null", "malformed: null, expected an object"),
]


@pytest.mark.parametrize(("text", "reason"), MALFORMED, ids=[reason for _, reason in MALFORMED])
def test_what_is_no_document_is_refused(text: bytes, reason: str) -> None:
    (checked,) = verify.check_stream(io.BytesIO(text))
    assert checked.problem is not None
    assert reason in checked.problem


def test_half_a_surrogate_pair_is_refused(cutthroat: Document) -> None:
    text = to_line(cutthroat).replace('"format"', '"note":"\\ud800","format"', 1)
    (checked,) = verify.check_stream(io.BytesIO(text.encode()))
    assert checked.problem == "malformed: a text holds half of a surrogate pair"


def test_every_cut_of_a_document_is_refused_and_nothing_is_raised(cutthroat: Document) -> None:
    text = to_line(cutthroat).encode()
    for length in range(1, len(text) - 1, 37):
        (checked,) = verify.check_stream(io.BytesIO(text[:length]))
        assert checked.problem is not None


def test_one_document_over_many_lines_and_many_on_one_each_are_told_by_content(cutthroat: Document) -> None:
    pretty = json.dumps(cutthroat, indent=2).encode()
    assert [each.problem for each in verify.check_stream(io.BytesIO(pretty))] == [None]
    lines = to_line(cutthroat).encode() * 2 + b'{"format":\n' + to_line(cutthroat).encode()
    found = list(verify.check_stream(io.BytesIO(lines)))
    assert [each.line for each in found if each.problem is None] == [1, 2, 4]
    first_is_cut = b'{"format":"smear\n' + to_line(cutthroat).encode()
    assert [each.problem is None for each in verify.check_stream(io.BytesIO(first_is_cut))] == [False, True]


def run(*arguments: str) -> tuple[int, list[str]]:
    result = CliRunner().invoke(make_app("verify"), ["verify", *arguments])
    if isinstance(result.exception, Refused):  # `main` makes one line and status 2 of it
        return 2, []
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout.splitlines()


def test_the_command_says_what_is_wrong_where_and_how_many(tmp_path: Path, cutthroat: Document) -> None:
    good = tmp_path / "good.jsonl"
    good.write_text(to_line(cutthroat) * 3)
    assert run(str(good)) == (0, ["3 documents, 0 refused"])
    damaged = copy.deepcopy(cutthroat)
    right = damaged["deals"][2]["tricks"][3]["winner"]
    damaged["deals"][2]["tricks"][3]["winner"] = (right + 1) % 3
    bad = tmp_path / "bad.jsonl"
    bad.write_text(to_line(cutthroat) + to_line(damaged))
    status, lines = run(str(good), str(bad))
    assert status == 1
    assert lines == [
        f"{bad}:2: deal 3/1 trick 4: winner {(right + 1) % 3}, expected {right}",
        "5 documents, 1 refused",
    ]
    assert run(str(good), "--secret", "another")[0] == 1
    empty = tmp_path / "empty"
    empty.write_text("\n\n")
    assert run(str(empty)) == (1, [f"{empty}:1: empty, expected a replay document", "0 documents, 0 refused"])
    assert run(str(tmp_path / "missing"))[0] == 2
    assert run()[0] == 2


def test_the_command_says_that_a_shuffle_was_not_checked(tmp_path: Path, cutthroat: Document) -> None:
    written = copy.deepcopy(cutthroat)
    written["seed"] = None
    file = tmp_path / "foreign.json"
    file.write_text(to_line(resigned(written)))
    status, lines = run(str(file))
    assert status == 0
    assert lines == [
        "1 without a seed: the shuffle and the first dealer were not checked",
        "1 documents, 0 refused",
    ]


def test_random_bytes_in_sound_documents_never_raise_anything() -> None:
    rng = random.Random(3)
    record, game = random_record(rng, 1)
    text = to_line(document(record, game)).encode()
    for _ in range(300):
        damaged = bytearray(text)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged) - 1)] = rng.randrange(256)
        for checked in verify.check_stream(io.BytesIO(bytes(damaged))):
            assert checked.problem is None or checked.problem.isprintable()
