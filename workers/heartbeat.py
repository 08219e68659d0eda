"""The sign of life of a program that serves nothing: a file that it touches, and the health check that looks at it.

`python -m workers.heartbeat` ends with status 1 if the file that TOURNAMENT_HEARTBEAT names was not touched lately.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Final

VARIABLE: Final = "TOURNAMENT_HEARTBEAT"

SILENT_S: Final = 60.0
"""A worker gives a sign of life every 20 s."""


def beat() -> None:
    """Touches the file, where one is named."""
    if path := os.environ.get(VARIABLE):
        Path(path).touch()


def complaint(path: str) -> str | None:
    """Says what is wrong with the file; None if it has been touched lately."""
    try:
        silent_s = time.time() - Path(path).stat().st_mtime
    except OSError as error:
        return f"no sign of life: {error}"
    return f"no sign of life for {silent_s:.0f} s" if silent_s > SILENT_S else None


if __name__ == "__main__":
    sys.exit(complaint(os.environ[VARIABLE]))
