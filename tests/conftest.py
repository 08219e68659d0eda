"""What every test may count on: no settings of the machine, the same examples in every run."""

import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.command import Command

# No outcome hangs on a clock, and a run finds what the run before it found. To look further, for as long as you like:
# pytest --hypothesis-profile=wide
settings.register_profile("suite", deadline=None, derandomize=True, max_examples=50)
settings.register_profile(
    "wide", deadline=None, max_examples=2_000, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("suite")

TESTS = Path(__file__).parent
SWITCH = "TOURNAMENT_COMPILED"

# What is tested is what is written, unless it is said otherwise (.ci/run).
os.environ.setdefault(SWITCH, "off")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command sets it, before numpy is imported

# Or each of the hundreds of programs that the tests start would compile everything anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_collection_finish() -> None:
    """Takes what was imported, which stays to the end, from the garbage collector: no collection looks through it."""
    gc.freeze()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Keeps bots and helpers under `tests` from being imported in search of doctests: some of the bots are hostile."""
    if TESTS in collection_path.parents and collection_path.suffix == ".py":
        return True if not collection_path.name.startswith(("test_", "conftest")) else None
    return None


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hides the settings of the person who runs the tests."""
    for name in [name for name in os.environ if name.startswith("TOURNAMENT_") and name != SWITCH]:
        monkeypatch.delenv(name)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line in this process."""
    return Command(monkeypatch, capsys)
