"""The replay: every step of many games of all modes, hidden hands, the text form, and what the steps say.

A game of each mode here, fifty in ``.ci/run``: ``REPLAY_GAMES`` says how many.
"""

from __future__ import annotations

import json
import os
import random
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from starlette.testclient import TestClient

from dashboard.app import create_app
from dashboard.replay_steps import Place, StepKind, steps_of
from dashboard.replay_text import to_text
from dashboard.replay_view import StepView
from dashboard.web import card_words
from tests.dashboard.sample import DATA, Sample, add_tournament
from tests.dashboard.text_form import from_text
from tournament.cards import TEXTS
from tournament.game import FaultKind, Game
from tournament.replay import GameRecord, Player, digest, document
from tournament.rules import Rules
from tournament.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fastapi import FastAPI

MODES = (
    Rules.make("cutthroat", players=2, target=3, deal_limit=1, redeal_limit=2),
    Rules.make("cutthroat", win="reach_target", deal_limit=1, redeal_limit=2),
    *(Rules.make("wisconsin", bidder_takes=taken, deal_limit=1, redeal_limit=2) for taken in range(4)),
)
GAMES = int(os.environ.get("REPLAY_GAMES", len(MODES)))
PER_MODE = -(-GAMES // len(MODES))
CARD_NAMES = {text: card_words(text) for text in TEXTS}


def random_document(number: int, *, long: bool = False) -> dict[str, Any]:
    """Make the document of a game played by chance, every fifth with a fault."""
    rng = random.Random(number)
    rules = MODES[number % len(MODES)]
    if long:
        rules = Rules.make(rules.game, players=rules.players, bidder_takes=rules.bidder_takes)
    seed = f"{number:064x}"
    game = Game(rules, seed)
    if number % 30 == 7:
        game.load_fault(1, FaultKind.LOAD)
    asked = 0
    while legal := game.advance():
        asked += 1
        assert game.deal is not None
        if number % 5 == 0 and asked in (9, 22):
            game.fault(game.deal.seat, FaultKind.TIMEOUT_CPU)
        else:
            game.act_legal(rng.choice(legal))
    players = tuple(Player(("ada", "bob", "cy", "bob")[seat], 1, None) for seat in range(rules.players))
    return document(GameRecord("key", 1, rules, seed, players, bytes(game.acts), game.faults), game)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestClient, list[str]]]:
    """Give a site with recorded games of all modes, faults included, and their addresses."""
    with Store(str(tmp_path_factory.mktemp("many") / "many.db")) as store:
        store.migrate()
        games: list[str] = []
        for number, rules in enumerate(MODES):
            names = [("ada", 1), ("bob", 1), ("cy", 1)]
            rounds = -(-PER_MODE // 6)  # three bots make six games a round in every mode
            tournament = add_tournament(
                store, Sample(rules, names, rounds, clumsy="bob", clumsiness=0.05), f"s{number}"
            )
            for match in store.latest_matches(tournament, 500):
                games += [f"{tournament}-{match.number}-{seating}" for seating in range(1, match.games + 1)]
        with TestClient(create_app(store)) as client:
            yield client, games


@pytest.mark.parametrize("mode", range(len(MODES)))
def test_every_step_of_every_game_renders_and_the_page_holds_the_very_part(
    many: tuple[TestClient, list[str]], mode: int
) -> None:
    client, games = many
    steps = pages = 0
    for game in random.Random(1).sample([game for game in games if game.startswith(f"{mode + 1}-")], PER_MODE):
        shown = client.get(f"/api/v1/games/{game}/replay").json()
        for entry in shown["deals"]:
            place = f"/games/{game}/replay?deal={entry['deal']}&attempt={entry['attempt']}"
            last = int(re.findall(r"Step 0 of (\d+)", client.get(f"{place}&part=1").text)[0])
            for step in range(last + 1):
                part = client.get(f"{place}&step={step}&part=1")
                assert part.status_code == 200
                assert f"Step {step} of {last}" in part.text
                steps += 1
                if step % 13 == 0:
                    assert part.text in client.get(f"{place}&step={step}").text
                    pages += 1
    assert steps > 12 * PER_MODE
    assert pages > PER_MODE


def test_a_view_of_one_seat_holds_no_card_that_the_seat_cannot_know(many: tuple[TestClient, list[str]]) -> None:
    client, games = many
    for game in games[:: max(1, len(games) // 8)]:
        shown = client.get(f"/api/v1/games/{game}/replay").json()
        if not shown["deals"]:
            continue
        steps = steps_of(shown, 0)
        for view in range(shown["rules"]["players"]):
            for index in range(0, len(steps), 7):
                step = steps[index]
                known = set(shown["deals"][0]["hands"][view])
                if step.deal.bidder == view:
                    known |= {TEXTS[card] for card in (*step.deal.taken, *step.deal.discards)}
                played = [card for trick in step.deal.tricks for card in trick.cards] + step.deal.trick
                known |= {TEXTS[card] for card in played}
                place = f"deal=1&attempt={shown['deals'][0]['attempt']}&step={index}&hands={view}"
                text = client.get(f"/games/{game}/replay?{place}").text
                named = {code for code, words in CARD_NAMES.items() if words in text}
                assert named <= known, (game, view, index)


def test_every_link_of_a_step_keeps_whose_hands_are_shown(many: tuple[TestClient, list[str]]) -> None:
    client, games = many
    shown = client.get(f"/api/v1/games/{games[0]}/replay").json()
    for view in range(shown["rules"]["players"]):
        text = client.get(f"/games/{games[0]}/replay?step=3&hands={view}&part=1").text
        steps = [link for link in re.findall(r'href="([^"]+)"', text) if "step=4" in link]
        assert steps
        assert all(f"hands={view}" in link for link in steps), steps


def test_no_link_leads_into_a_deal_that_another_game_of_the_match_does_not_have(client: TestClient) -> None:
    dead: list[str] = []
    uneven = 0
    for match in ("1-1", "1-3", "2-1", "3-1"):
        documents = [json.loads(line) for line in client.get(f"/matches/{match}.jsonl").text.splitlines()]
        pages = [f"/matches/{match}"]
        by_length = sorted(range(len(documents)), key=lambda index: len(documents[index]["deals"]))
        shortest, longest = by_length[0], by_length[-1]
        uneven += len(documents[shortest]["deals"]) < len(documents[longest]["deals"])
        for index in (shortest, longest):
            last = documents[index]["deals"][-1]
            pages.append(f"/games/{match}-{index + 1}/replay?deal={last['deal']}&attempt={last['attempt']}")
        texts = [client.get(page).text for page in pages]
        links = {link for text in texts for link in re.findall(r'href="(/games/[^"]+/replay[^"]*)"', text)}
        own = {link for link in links if "step=" not in link}  # steps of a deal differ in their last parameter only
        dead += [link for link in own if client.get(link.replace("&amp;", "&")).status_code != 200]
    assert uneven > 2
    assert dead == []


@pytest.fixture(scope="module")
def words(app: FastAPI) -> Any:
    """Give the macros that say what happens at a step."""
    return app.state.site.renderer.environment.get_template("_words.html").module


def test_hidden_cards_are_hidden_in_the_strip_and_in_the_words_too(words: Any) -> None:
    shown = next(d for d in map(random_document, range(5, 90, 6)) if d["deals"][0]["taken"])
    steps = steps_of(shown, 0)
    take = next(index for index, step in enumerate(steps) if step.kind is StepKind.TAKE)
    bidder = steps[take].seat
    other = (bidder + 1) % 4
    hidden = StepView(shown, Place(1, shown["deals"][0]["attempt"], take, other))
    own = StepView(shown, Place(1, shown["deals"][0]["attempt"], take, bidder))
    assert hidden.strip[take].token == "+3"
    assert words.sentence(hidden).endswith("takes 3 cards.")
    assert hidden.action == []
    assert own.strip[take].token == "+" + "".join(shown["deals"][0]["taken"])
    assert all(link.token == "" for link in hidden.strip[take + 1 :])
    assert hidden.undealt == hidden.taken == []


@pytest.mark.parametrize("number", range(60))
def test_the_text_form_parses_back_to_the_same_document(number: int) -> None:
    shown = random_document(number)
    parsed = from_text(to_text(shown))
    assert parsed == shown
    assert digest(parsed) == shown["digest"]


def scenarios() -> list[dict[str, Any]]:
    """Read the worked scenarios that play a whole deal."""
    found = yaml.load((DATA / "scenarios.yaml").read_text("utf-8"), yaml.CSafeLoader)["scenarios"]
    return [each for each in found if each["kind"] == "deal" and "points" in each["expected"] and "undealt" not in each]


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: scenario["id"])
def test_the_view_of_a_worked_scenario_says_what_was_worked_out_by_hand(scenario: dict[str, Any], words: Any) -> None:
    rules = Rules.make(scenario["game"], players=scenario["players"], **{"bidder_takes": 0} | scenario["options"])
    expected = scenario["expected"]
    names = ("high", "low", "jack")
    points = {name: None if expected[name] is None else rules.side_of(expected[name]) for name in names}
    hands = [scenario["hands"][seat] for seat in range(scenario["players"])]
    entry = {
        "deal": 1,
        "attempt": 1,
        "dealer": scenario["dealer"],
        "hands": hands,
        "undealt": [],
        "bids": [{"seat": b["seat"], "bid": 0 if b["action"] == "pass" else b["action"]} for b in scenario["auction"]],
        "bidder": expected["bidder"],
        "bid": expected["bid"],
        "taken": [],
        "discards": [],
        "trump": expected["trump"],
        "tricks": scenario["tricks"],
        "points": points | {"game": expected["game"]},
        "scores": expected["change"],
    }
    players = [{"seat": seat, "bot": f"b{seat}", "version": 1} for seat in range(scenario["players"])]
    result = {"fault": None, "second_fault": None}
    shown = {"rules": rules.to_dict(), "players": players, "deals": [entry], "result": result}
    view = StepView(shown, Place(step=10_000))
    assert list(view.pips) == expected["game_counts"]
    assert ("Made" if expected["made"] else "Failed") in words.needs(view)
    for point in view.points:
        owner = entry["points"][point.name.lower()]
        assert point.settled
        assert words.point(view, point).startswith("nobody" if owner is None else view.sides[owner])


def test_what_is_settled_before_the_end_is_settled_at_the_end(words: Any) -> None:
    for number in range(30):
        shown = random_document(number)
        for entry in shown["deals"]:
            if "points" not in entry:
                continue
            last = StepView(shown, Place(entry["deal"], entry["attempt"], 10_000))
            for step in range(last.last_step):
                view = StepView(shown, Place(entry["deal"], entry["attempt"], step))
                for now, final in zip(view.points, last.points, strict=True):
                    assert not now.settled or words.point(view, now) == words.point(last, final)


def test_a_fault_is_a_step_of_its_own_and_the_house_is_named_after_it(words: Any) -> None:
    shown = next(
        d for n in range(25, 200, 30) if len((d := random_document(n))["players"]) == 3 and d["result"]["fault"]
    )
    fault = shown["result"]["fault"]
    position = next(
        i for i, e in enumerate(shown["deals"]) if (e["deal"], e["attempt"]) == (fault["deal"], fault["attempt"])
    )
    steps = steps_of(shown, position)
    index = next(i for i, step in enumerate(steps) if step.kind is StepKind.FAULT)
    assert steps[index].before == fault["act"]
    view = StepView(shown, Place(fault["deal"], fault["attempt"], index))
    assert "used too much processor time. The house plays on for it." in words.sentence(view)
    assert view.house == {fault["seat"]}
    assert view.strip[index].kind == "fault"


def test_every_step_can_be_reached_by_going_forward_and_back() -> None:
    shown = random_document(2)
    entry = shown["deals"][0]
    place: Place | None = Place(entry["deal"], entry["attempt"], 0)
    seen = []
    while place is not None:
        view = StepView(shown, place)
        seen.append(view.place.step)
        left = view.jumps["ArrowLeft"]
        assert left is None or left.step == view.place.step - 1
        place = view.jumps["ArrowRight"]
    assert seen == list(range(len(steps_of(shown, 0))))


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/games/1-1-1/replay?deal=99", 404),
        ("/games/1-1-9/replay", 404),
        ("/games/1-999-1/replay", 404),
        ("/games/x/replay", 404),
        ("/games/1-1-1/replay?hands=7", 404),
        ("/games/1-1-1/replay?hands=x", 404),
        ("/games/1-1-1/replay?hands=00", 422),
        ("/games/1-1-1/replay?hands=" + "1" * 5000, 422),
        ("/games/1-1-1/replay?step=99999", 200),
        ("/games/1-1-1/replay?step=-5", 200),
        ("/games/1-1-1/replay?step=x", 422),
    ],
)
def test_an_address_out_of_range_is_clamped_or_explained(client: TestClient, address: str, status: int) -> None:
    assert client.get(address).status_code == status


def test_nothing_of_a_match_is_public_before_it_is_complete(client: TestClient, store: Store) -> None:
    queued = store.counts(1).planned
    page = client.get(f"/matches/1-{queued}").text
    assert "become public together" in page
    assert (
        client.get(f"/games/1-{queued}-1/replay", follow_redirects=False).headers["location"] == f"/matches/1-{queued}"
    )
    answer = client.get(f"/games/1-{queued}-1/replay.json")
    assert (answer.status_code, answer.headers["content-type"]) == (409, "application/problem+json")
    assert client.get(f"/api/v1/matches/1-{queued}").json()["seed"] is None
    assert not re.search(r"\b(ace|king|queen|jack) of ", page)


def test_decision_times_stand_beside_their_decisions_and_sort(client: TestClient) -> None:
    page = client.get("/games/3-1-1/replay?sort=time").text
    times = [float(value) for value in re.findall(r'<td class="n">(\d+\.\d)</td></tr>', page)]
    assert len(times) > 5
    assert times == sorted(times, reverse=True)


def test_a_changed_record_is_shown_as_wrong(tmp_path: Path) -> None:
    with Store(str(tmp_path / "x.db")) as store:
        store.migrate()
        add_tournament(store, Sample(MODES[0], [("ada", 1), ("cy", 1)], 1), "s")
        with store.write() as connection:
            connection.exec_driver_sql("UPDATE game SET digest = 'sha256:0' WHERE seating = 2")
        with TestClient(create_app(store)) as client:
            assert "✓ verified" in client.get("/games/1-1-1/replay").text
            assert "This replay does not check" in client.get("/games/1-1-2/replay").text
            assert "1 games do not check" in client.get("/matches/1-1").text
