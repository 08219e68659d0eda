"""Log lines of servers: one JSON object a line on standard error, with the match and the attempt that it is about."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, Final, TextIO

FIELDS: Final = ("tournament", "match", "attempt", "worker", "bytes", "matches")
"""What a line may name beside its text: ``logger.info("…", extra={"match": 17, "attempt": 2})``."""


class JsonLines(logging.Formatter):
    """Writes a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line."""
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "from": record.name,
            "text": record.getMessage(),
        }
        line |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def log_to(stream: TextIO | None = None, level: int = logging.INFO) -> None:
    """Sends all log lines of this process to a stream, standard error by default."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.captureWarnings(True)  # Celery warns at every start as root, in several lines of plain text
    for noisy in ("alembic", "celery", "kombu"):
        logging.getLogger(noisy).setLevel(max(level, logging.WARNING))
