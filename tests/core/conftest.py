"""What a bot played in this process must not leave behind."""

import random
import sys
from collections.abc import Iterator

import pytest

from tournament import bot as bot_module
from tournament.source import SourceFinder


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    state, runtime = random.getstate(), bot_module._Current.runtime
    yield
    random.setstate(state)
    bot_module._Current.runtime = runtime
    for finder in [finder for finder in sys.meta_path if isinstance(finder, SourceFinder)]:
        finder.leave()
    assert "bot" not in sys.modules
