"""Makes the pictures of six pages in both schemes at two widths: ``python -m tests.browser.pictures [FOLDER]``."""

from __future__ import annotations

import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from playwright.sync_api import sync_playwright

from dashboard.app import create_app
from tests.browser.driver import FLAGS, Server, find_browser
from tests.dashboard.sample import Sample, sample_store
from tournament.rules import Rules

PAGES = {
    "standings": "/standings?tournament=1",
    "head-to-head": "/head-to-head?tournament=1",
    "match": "/matches/2-2",
    "replay": "/games/2-2-1/replay?deal=2&step=22",
    "tournament": "/tournaments/1",
    "bot": "/bots/counter/v5?tournament=1",
}
BOTS = [("river-fox", 7), ("monte", 3), ("greedy", 2), ("simple", 1), ("counter", 4), ("counter", 5), ("random", 1)]
SAMPLES = (
    Sample(Rules.make("cutthroat", players=2), BOTS, 16, "Spring league", clumsy="greedy", leave=40),
    Sample(Rules.make("wisconsin"), BOTS[:4], 3, "Partners' evening"),
)
SIZES = ((360, 800), (1100, 1200))


def main(folder: Path) -> None:
    """Make the pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        store = sample_store(Path(scratch) / "site.db", SAMPLES)
        last = max(match.recorded_at or 0.0 for match in store.latest_matches(1, 1))
        server = Server(create_app(store, clock=lambda: datetime.fromtimestamp(last + 2, UTC)))
        server.start()
        browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        for scheme in ("light", "dark"):
            for width, height in SIZES:
                context = browser.new_context(
                    base_url=server.address,
                    color_scheme=scheme,  # type: ignore[arg-type]
                    viewport={"width": width, "height": height},
                    reduced_motion="reduce",
                )
                page = context.new_page()
                for name, address in PAGES.items():
                    page.goto(address)
                    page.screenshot(path=folder / f"{name}-{width}-{scheme}.png")
                context.close()
        browser.close()
        server.stop()
        store.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures"))
