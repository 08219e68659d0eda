"""Bounds of a test beyond which floating point has nothing to say are refused."""

import pytest

from tournament.sprt import Hypotheses


@pytest.mark.parametrize(
    "bounds", [(0, 100_000, 0.05, 0.05), (-3000, 0, 0.05, 0.05), (0, 20, 1e-320, 0.05), (0, 20, 0.05, 0.0)]
)
def test_bounds_that_no_arithmetic_can_tell_apart_are_refused(bounds: tuple[float, float, float, float]) -> None:
    with pytest.raises(ValueError, match="must lie between"):
        Hypotheses(*bounds)
