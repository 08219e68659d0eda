"""What a worker must have in common with a tournament."""

import pytest

from tests.cluster.fakes import HERE
from tournament.environment import LAYERS, demanding, difference, environment, fingerprint, layer_lines, served
from workers.sandbox.host import Confinement, Sandbox
from workers.tickets import match_queue, why_not


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"engine": "f" * 64}, f"another rules engine, {'f' * 12}, expected {'e' * 12}"),
        ({"python": "CPython 3.12.1"}, "CPython 3.12.1, expected CPython 3.11.9"),
        ({"modules": ["math", "numpy 2.3.0"]}, "without numpy 2.4.6; with numpy 2.3.0, which is not expected"),
        ({"modules": ["math"]}, "without numpy 2.4.6"),
        ({"modules": []}, "without math, numpy 2.4.6"),
    ],
)
def test_each_difference_has_its_reason_and_its_own_queue(change: dict[str, object], reason: str) -> None:
    other = {**HERE, **change}
    assert difference(HERE, other) == reason
    assert match_queue(other) != match_queue(HERE)
    assert why_not(other, [(7, HERE)]) == (f"no work here: tournament 7 is played under another environment ({reason})")


def test_the_same_environment_differs_in_nothing_whatever_the_order_of_its_fields() -> None:
    again = dict(reversed(HERE.items()))
    assert difference(HERE, again) is None
    assert fingerprint(again) == fingerprint(HERE)


def test_one_tournament_that_fits_is_enough_and_without_any_there_is_no_reason() -> None:
    other = {**HERE, "python": "CPython 3.12.1"}
    assert why_not(HERE, [(1, other), (2, HERE)]) is None
    assert why_not(HERE, []) is None


def test_many_missing_modules_are_counted_not_listed() -> None:
    text = difference({"modules": [f"m{n}" for n in range(9)]}, {"modules": []})
    assert text == "without m0, m1, m2, m3, m4 and 4 more"


def test_what_is_looked_for_without_a_sandbox_is_what_a_running_one_finds() -> None:
    with Sandbox() as sandbox:
        assert difference(environment(), environment(sandbox.confinement.modules)) is None


def test_a_demanded_layer_makes_a_queue_of_its_own_that_only_machines_with_it_serve() -> None:
    strict = {**HERE, **demanding(["landlock"])}
    with_it, without = ({**HERE, "layers": layers} for layers in (["landlock", "own-uid"], ["own-uid"]))
    assert match_queue(strict) in map(match_queue, served(with_it))
    assert match_queue(strict) not in map(match_queue, served(without))
    assert {match_queue(HERE)} < set(map(match_queue, served(without)))
    assert difference(strict, with_it) is None
    assert difference(strict, without) == "without landlock, which is demanded of the sandbox"
    assert fingerprint(with_it) == fingerprint(HERE)


def test_there_are_no_other_layers_to_demand() -> None:
    with pytest.raises(ValueError, match="no layer 'moat': expected landlock or own-uid"):
        demanding(["moat"])
    assert demanding([]) == {}


def test_a_page_tells_what_is_demanded_and_what_is_missing() -> None:
    workers = [{**HERE, "layers": ["landlock"]}, HERE]
    assert list(layer_lines(HERE, workers)) == ["missing where it is played: own-uid"]
    assert list(layer_lines({**HERE, "layers": ["own-uid"]}, workers)) == ["missing where it is played: landlock"]
    assert list(layer_lines({**HERE, **demanding(["own-uid"])}, workers)) == ["demanded: own-uid"]
    assert list(layer_lines(HERE, [HERE])) == []


def test_what_the_sandbox_can_have_is_what_can_be_demanded() -> None:
    assert set(Confinement().missing) == set(LAYERS)
