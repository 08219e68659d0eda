"""Published cases with right answers that nobody on this project wrote."""

import json
import math
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tournament.ratings import ELO_PER_LOGIT, Z95, Fit, fit, group_blocks
from tournament.results import Block
from tournament.sprt import (
    GAME_SCORES,
    PAIR_SCORES,
    Hypotheses,
    Model,
    expected_score,
    llr_of,
    score_stats,
)

CASES: dict[str, dict[str, Any]] = {
    case["id"]: case
    for case in json.loads((Path(__file__).parents[1] / "data" / "rating-oracles.json").read_text("utf-8"))["cases"]
}


def case(name: str) -> tuple[dict[str, Any], dict[str, Any], Any]:
    return CASES[name]["input"], CASES[name]["expected"], CASES[name]["tolerance"]


def of_feature(word: str) -> list[str]:
    found = [name for name, case in CASES.items() if word in case["feature"].split(",")]
    assert found
    return found


def from_table(wins: np.ndarray, prior: float) -> Fit:
    """Fits a table of wins whose games all stand alone."""
    blocks = []
    for i, j in combinations(range(len(wins)), 2):
        for half, count in ((2, int(wins[i][j])), (0, int(wins[j][i]))):
            if count:
                blocks.append(Block((i, j), (1,), count, (half * count,), (half * half * count,)))
    return fit(len(wins), group_blocks(blocks), prior)


def baseball() -> tuple[list[str], Fit]:
    rows = CASES["bt-agresti-baseball"]["input"]["rows"]
    names = sorted({row[0] for row in rows})
    wins = np.zeros((len(names), len(names)))
    for home, away, won, lost in rows:
        wins[names.index(home), names.index(away)] += won
        wins[names.index(away), names.index(home)] += lost
    return names, from_table(wins, 0)


def counts_of(given: dict[str, Any]) -> tuple[tuple[float, ...], list[int]]:
    if "pairs" in given:
        losses, low, split, drawn, high, wins = given["pairs"]
        return PAIR_SCORES, [losses, low, split + drawn, high, wins]
    return GAME_SCORES, [given["losses"], given["draws"], given["wins"]]


def within(given: float, wanted: float, name: str, tolerance: Any) -> bool:
    allowed = (
        tolerance if not isinstance(tolerance, dict) else max(v for k, v in tolerance.items() if name.startswith(k))
    )
    return abs(given - wanted) <= allowed


def test_the_elo_curve_is_the_logistic_one() -> None:
    given, wanted, tolerance = case("elo-expected-logistic")
    for difference in given["rating_difference"]:
        assert within(expected_score(difference), wanted[str(difference)], "", tolerance)


def test_four_players_of_whom_two_pairs_never_met_get_the_published_strengths() -> None:
    given, wanted, tolerance = case("bt-wikipedia-4")
    found = np.exp(from_table(np.array(given["wins"]), 0).strengths)
    np.testing.assert_allclose(found, wanted["strength_geometric_mean_1"], rtol=0, atol=tolerance)


def test_the_baseball_season_of_1987_gets_agrestis_coefficients() -> None:
    _, wanted, tolerance = case("bt-agresti-baseball")
    names, found = baseball()
    base = found.strengths[names.index("Baltimore")]
    for team, value in wanted["coef"].items():
        assert within(found.strengths[names.index(team)] - base, value, "", tolerance)


def test_the_plain_standard_errors_are_those_of_bradleyterry2() -> None:
    _, wanted, tolerance = case("bt-agresti-baseball-se")
    names, found = baseball()
    pinned = names.index("Baltimore")
    for team, value in wanted["se"].items():
        i = names.index(team)
        variance = found.plain[i, i] + found.plain[pinned, pinned] - 2 * found.plain[i, pinned]
        assert within(math.sqrt(variance), value, "", tolerance)


def test_ordo_rates_the_season_alike_on_its_own_scale() -> None:
    _, wanted, tolerance = case("ordo-baseball")
    names, found = baseball()
    per_logit = 202 / math.log(0.76 / 0.24)
    for team, value in wanted["rating"].items():
        assert within(1500 + per_logit * found.strengths[names.index(team)], value, "", tolerance)


def test_a_ghost_holds_a_player_who_only_lost() -> None:
    given, wanted, tolerance = case("bt-ghost-disconnected")
    players = given["players"]
    wins = np.zeros((len(players), len(players)))
    for winner, loser in given["winner_loser"]:
        wins[players.index(winner), players.index(loser)] += 1
    found = from_table(wins, 1).strengths
    for player, value in wanted.items():
        assert within(found[players.index(player)] - found[players.index("A")], value, "", tolerance)


def test_the_uncorrected_sandwich_of_two_bots_is_that_of_r() -> None:
    given, wanted, tolerance = case("sandwich-two-bots")
    for k, pairs in enumerate(given["pairs"]):
        ll, ld, wl, dd, wd, ww = pairs
        grouped = {"err95_cluster": (2, [ll, ld, wl + dd, wd, ww])}
        grouped["err95_independent"] = (1, [2 * ll + ld + wl, ld + 2 * dd + wd, wl + wd + 2 * ww])
        for name, (games, counts) in grouped.items():
            total, squares = (sum(half**power * count for half, count in enumerate(counts)) for power in (1, 2))
            found = fit(2, group_blocks([Block((0, 1), (games,), sum(counts), (total,), (squares,))]), 0)
            se = math.sqrt(found.robust[0, 0] + found.robust[1, 1] - 2 * found.robust[0, 1])
            assert within(float(found.gaps()[0, 1]), wanted["elo"][k], "", tolerance)
            assert within(Z95 * ELO_PER_LOGIT * se, wanted[name][k], "", tolerance)


@pytest.mark.parametrize("name", of_feature("match_stats"))
def test_match_figures_are_those_of_chess_tools(name: str) -> None:
    given, wanted, tolerance = case(name)
    values, counts = counts_of(given)
    found = score_stats(values, counts)
    drawn = counts[len(counts) // 2] / sum(counts)
    for field, value in wanted.items():
        if field.startswith("llr"):
            continue
        number = drawn if field == "draw_ratio" else getattr(found, field)
        assert within(number, value, field, tolerance), (field, number, value)


@pytest.mark.parametrize("name", of_feature("sprt"))
def test_log_likelihood_ratios_are_those_of_chess_tools(name: str) -> None:
    given, wanted, tolerance = case(name)
    options = {**given, **given.get("sprt", {"model": given.get("model", "cutechess")})}
    test = Hypotheses(options["elo0"], options["elo1"], options.get("alpha", 0.05), options.get("beta", 0.05))
    model = Model(options["model"].split()[0])
    assert within(llr_of(*counts_of(given), test, model), wanted["llr"], "llr", tolerance)
    for field, bound in (("lower", test.lower), ("upper", test.upper), ("llr_lower", test.lower)):
        assert field not in wanted or within(bound, wanted[field], "llr", tolerance)


def test_every_case_of_a_built_feature_is_tested() -> None:
    left_out = {"winrate_ci"}  # an interval for games that stand alone; ours are matches
    source = Path(__file__).read_text("utf-8")
    named = {*of_feature("match_stats"), *of_feature("sprt")}
    missing = {name for name in CASES if name not in named and f'case("{name}")' not in source}
    assert {CASES[name]["feature"] for name in missing} == left_out
