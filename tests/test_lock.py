"""One coordinator per SQLite file: whoever holds the lock, until it lets go or dies."""

import subprocess
import sys
from pathlib import Path

from tournament.lock import CoordinatorLock

HOLDER = """
import sys, pathlib
from tournament.lock import CoordinatorLock
lock = CoordinatorLock(pathlib.Path(sys.argv[1]))
print(lock.acquire(), flush=True)
sys.stdin.read()
"""


def test_a_second_holder_waits_until_the_first_lets_go(tmp_path: Path) -> None:
    one, two = CoordinatorLock(tmp_path / "a.db"), CoordinatorLock(tmp_path / "a.db")
    assert one.acquire()
    assert one.acquire()
    assert not two.acquire()
    assert two.holder() is not None
    one.release()
    assert two.acquire()
    assert not one.acquire()
    two.release()


def test_the_lock_is_free_as_soon_as_its_holder_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with (
        CoordinatorLock(path) as lock,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder,
    ):
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        assert not lock.acquire()
        assert lock.holder() == holder.pid
        holder.kill()
        holder.wait()
        assert lock.acquire()
    with CoordinatorLock(path) as another:
        assert another.acquire()


def test_databases_have_locks_of_their_own(tmp_path: Path) -> None:
    with CoordinatorLock(tmp_path / "a.db") as one, CoordinatorLock(tmp_path / "b.db") as two:
        assert one.acquire()
        assert two.acquire()
    assert one.path.name == "a.db.lock"
