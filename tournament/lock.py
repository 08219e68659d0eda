"""The lock that makes one coordinator per SQLite file: who holds it may take back all leases at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Self

try:
    import fcntl
except ImportError:  # Windows: the store can be read there, and nothing is played
    fcntl = None  # type: ignore[assignment]


class CoordinatorLock:
    """A lock on a file beside the database, held by this process until `release` or its death.

    The operating system frees it however the process ends. The file stays: were it removed, two processes could each
    hold a lock on a file of that name.
    """

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(f"{database.name}.lock")
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """Takes the lock if nobody else holds it, and says whether this object holds it now; never waits.

        Raises:
            OSError: the file cannot be made, or this system has no such locks.
        """
        if self._descriptor is not None:
            return True
        if fcntl is None:
            raise OSError("this system has no file locks: matches are coordinated on Linux only")
        # Not inherited by guests and executors, which would keep the lock alive after our death.
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        self._descriptor = descriptor
        return True

    def holder(self) -> int | None:
        """Returns the process that last took the lock, for messages, or None if it is not known."""
        try:
            return int(self.path.read_text())
        except (OSError, ValueError):
            return None

    def release(self) -> None:
        """Gives the lock back if this object holds it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Self:
        """Does not take the lock: ask `acquire`."""
        return self

    def __exit__(self, *_: object) -> None:
        """Gives the lock back."""
        self.release()
