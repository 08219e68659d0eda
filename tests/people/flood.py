"""Two hundred contestants submit within a minute: python -m tests.people.flood [SECONDS]

Starts `tournament serve` on a new database, lets everybody submit a bot of their own and read pages meanwhile, waits
for all verdicts, and says how long it all took. Exit status 1 if one was lost, came twice, or a page was slow.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.people.people import GOOD, contestant
from tests.servers.finder import free_port
from tests.store.play import migrated

PEOPLE = 200
PAGES = ("/", "/tournaments", "/submit", "/account", "/guide")
SLOW_MS = 300.0
FINAL_S = 1200.0


@dataclass
class Flood:
    """What came of it."""

    answers: Counter[int] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    numbers: list[int] = field(default_factory=list)
    page_ms: list[float] = field(default_factory=list)
    submitted_s: float = 0.0
    verdicts_s: float = 0.0

    def complaints(self) -> list[str]:
        """Says what is wrong."""
        found = []
        if set(self.answers) - {202, 429, 503}:
            found.append(f"answers {dict(self.answers)}: expected 202, or a clear 429 or 503")
        if len(set(self.numbers)) != len(self.numbers) or len(self.numbers) != self.answers[202]:
            found.append(f"{len(self.numbers)} numbers of {len(set(self.numbers))} submissions")
        if set(self.states) - {"accepted"}:
            found.append(f"states at the end: {dict(self.states)}")
        if self.percentile(0.95) > SLOW_MS:
            found.append(f"pages: 95 % within {self.percentile(0.95):.0f} ms, expected {SLOW_MS:.0f}")
        return found

    def percentile(self, share: float) -> float:
        """Returns the time within which this share of the pages came."""
        return sorted(self.page_ms)[int(share * (len(self.page_ms) - 1))] if self.page_ms else 0.0


def ask(address: str, token: str, path: str, data: bytes | None = None) -> tuple[int, Any]:
    """Sends one request and returns status and body."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/octet-stream"}
    try:
        with urllib.request.urlopen(urllib.request.Request(address + path, data, headers), timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def flood(address: str, tokens: list[str], within_s: float) -> Flood:
    """Lets each token submit once, spread over `within_s`, reads pages all the while, and waits for the verdicts."""
    result, lock, over = Flood(), threading.Lock(), threading.Event()
    begun_s = time.monotonic()

    def submit(number: int) -> None:
        time.sleep(max(0.0, begun_s + within_s * number / len(tokens) - time.monotonic()))
        code, body = ask(address, tokens[number], f"/api/v1/submissions?bot=bot{number}", GOOD + b"# %d\n" % number)
        with lock:
            result.answers[code] += 1
            if code == 202:
                result.numbers.append(json.loads(body)["id"])

    def read_pages() -> None:
        turn = 0
        while not over.is_set():
            at = time.monotonic()
            code, _ = ask(address, tokens[turn % len(tokens)], PAGES[turn % len(PAGES)])
            with lock:
                if code != 200:
                    result.answers[code] += 1
                result.page_ms.append(1000 * (time.monotonic() - at))
            turn += 1
            over.wait(0.05)

    reader = threading.Thread(target=read_pages)
    reader.start()
    with ThreadPoolExecutor(40) as pool:
        list(pool.map(submit, range(len(tokens))))
    result.submitted_s = time.monotonic() - begun_s
    waiting = list(zip(sorted(result.numbers), range(len(tokens)), strict=False))
    states: dict[int, str] = {}
    while len(states) < len(waiting) and time.monotonic() - begun_s < FINAL_S:
        for token in tokens:
            for item in json.loads(ask(address, token, "/api/v1/submissions")[1])["items"]:
                if item["final"]:
                    states[item["id"]] = item["state"]
        over.wait(0.5)
    over.set()
    reader.join()
    result.verdicts_s = time.monotonic() - begun_s
    result.states.update(states.values())
    return result


def main() -> int:
    """Does it with a server of its own."""
    within_s = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "flood.db")
        with closing(migrated(path)) as store:
            tokens = [contestant(store, f"c{number}")[1] for number in range(PEOPLE)]
        port = free_port()
        environment = {**os.environ, "TOURNAMENT_DATABASE_URL": str(path)}
        command = [sys.executable, "-c", "from tournament.cli import main; main()", "serve", "--port", str(port)]
        server = subprocess.Popen(command, env=environment)
        address = f"http://127.0.0.1:{port}"
        try:
            for _ in range(300):
                try:
                    if ask(address, tokens[0], "/readyz")[0] == 200:
                        break
                except OSError:
                    time.sleep(0.1)
            result = flood(address, tokens, within_s)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()
    print(f"{PEOPLE} submitted in {result.submitted_s:.0f} s: {dict(result.answers)}")
    print(f"all verdicts after {result.verdicts_s:.0f} s: {dict(result.states)}")
    times = ", ".join(f"{share:.0%} {result.percentile(share):.0f} ms" for share in (0.5, 0.95, 1.0))
    print(f"{len(result.page_ms)} pages meanwhile: {times}")
    for line in result.complaints():
        print(f"BAD {line}")
    return 1 if result.complaints() else 0


if __name__ == "__main__":
    sys.exit(main())
