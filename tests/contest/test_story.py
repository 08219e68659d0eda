"""From an empty installation to a published result that another installation has checked."""

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from zipfile import ZipFile

import pytest

from dashboard.app import create_app
from tests.people.people import RANDOM, accept, contestant
from tests.people.site import browser, nobody, token_of
from tournament import contest
from tournament.cli_common import house_entrants
from tournament.export import export_tournament
from tournament.models import MatchState, TournamentState
from tournament.models_people import InviteKind
from tournament.source import BotSource
from tournament.store import Store
from tournament.store_public import PublicStore
from tournament.store_submissions import NewSubmission
from tournament.tokens import new_code
from tournament.verify_tournament import Answer, verify_export
from workers.local import LocalExecutor
from workers.local_run import LocalRun

OPENS, CLOSES, LATER = (contest.moment_of(f"2026-01-0{day} 18:00", "Europe/Zurich") for day in (1, 2, 3))
BOT = """
class Bot:
    def bid(self, view):
        return view.legal[({number} + view.deal) % len(view.legal)]

    def play(self, view):
        return view.legal[{number} % len(view.legal)]
"""


def submit(store: Store, account: int, name: str, text: str, now: float) -> None:
    store.submit(NewSubmission(account, name, "bot.py", BotSource.of_file(text.encode())), ("simple",), now=now)
    accept(store, now=now + 1)


def play_some(store: Store, executor: LocalExecutor, enough: int | None = None) -> None:
    """Plays until so many matches are recorded, or all."""
    wanted = store.counts(1).planned if enough is None else enough
    run = LocalRun(store, executor, fitting=lambda: [1] if store.counts(1).finished < wanted else [])
    while run.step(1.0) or run.busy:
        pass


def verified(folder: Path, elsewhere: Path) -> tuple[int, str]:
    """Has another installation check an export: another process, in another folder, with no database."""
    elsewhere.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "tournament", "verify", "--tournament", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    ended = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True, check=False, env=environment)
    assert list(elsewhere.iterdir()) == []
    return ended.returncode, ended.stdout + ended.stderr


@pytest.fixture
def executor() -> Iterator[LocalExecutor]:
    """This machine's cores, with the sandbox."""
    with closing(LocalExecutor(2)) as executor:
        yield executor


def test_a_contest_from_an_empty_installation_to_its_published_result(
    store: Store, executor: LocalExecutor, tmp_path: Path
) -> None:
    app = create_app(store, clock=lambda: datetime.fromtimestamp(OPENS, UTC), house=house_entrants)
    code = new_code(RANDOM)
    store.invite(code, InviteKind.CLAIM, by=None)  # `serve` prints it at the first start
    token = token_of(nobody(app).post("/join", code=code, name="Organiser").text)
    mine = browser(app, token)

    # Made with a deadline; the commitment is public before anybody hands in.
    form = {"name": "Cup", "players": "2", "deal_limit": "2", "rounds": "1", "house": "simple", "zone": "Europe/Zurich",
            "opens": "2026-01-01 18:00", "closes": "2026-01-02 18:00", "order": "elo"}  # fmt: skip
    assert mine.post("/admin/contests", **form).status_code == 303
    commitment = json.loads(nobody(app).get("/api/v1/tournaments/1").text)["commitment"]
    assert contest.tick(store, OPENS, house_entrants) == ["tournament 1 is open"]

    # Twelve hand in; one is granted an extension and uses it, another is too late.
    accounts = [contestant(store, f"Person {number}")[0] for number in range(12)]
    for number, account in enumerate(accounts):
        submit(store, account, f"bot{number:02}", BOT.format(number=number), CLOSES - 3600 + number)
    extension = {"account": "Person 3", "closes": "2026-01-03 18:00", "reason": "ill"}
    assert mine.post("/admin/contests/1/extend", **extension).status_code == 303
    assert contest.tick(store, CLOSES, house_entrants) == ["tournament 1 is closed"]
    submit(store, accounts[3], "bot03", BOT.format(number=33), LATER - 1)
    submit(store, accounts[4], "bot04", BOT.format(number=44), LATER - 1)
    assert "13 bots would enter now" in mine.get("/admin/contests/1").text

    # It runs, pauses, and goes on; a match is voided, a bot disqualified, the standings are held.
    assert mine.post("/admin/contests/1/start").status_code == 303
    entered = {entrant.name: entrant.version for entrant in store.entrants(1)}
    assert (len(entered), entered["bot03"], entered["bot04"]) == (13, 2, 1)
    play_some(store, executor, 10)
    assert mine.post("/admin/contests/1/pause").status_code == 303
    paused = store.counts(1)
    play_some(store, executor)
    assert store.counts(1) == paused
    assert mine.post("/admin/contests/1/continue").status_code == 303
    play_some(store, executor, 25)
    done = next(match.number for match in store.matches(1) if match.state is MatchState.DONE)
    assert mine.post("/admin/contests/1/void", matches=str(done), reason="overloaded machine").status_code == 303
    assert mine.post("/admin/contests/1/disqualify", bot="5", reason="copied").status_code == 303
    assert mine.post("/admin/contests/1/hold").status_code == 303
    held = nobody(app).get("/standings.csv?tournament=1").text
    play_some(store, executor)
    assert store.tournament(1).state is TournamentState.FINISHED
    assert store.counts(1).finished == 78

    # Held: all public things agree with the moment of the hold, and can be checked as far as they go.
    with PublicStore(store.url) as public:
        export_tournament(public, 1, tmp_path / "held")
        assert public.tournament(1).state is TournamentState.RUNNING
    assert nobody(app).get("/standings.csv?tournament=1").text == held
    table = list(csv.DictReader((tmp_path / "held" / "standings.csv").read_text().splitlines()))
    shown = list(csv.DictReader(held.splitlines()))
    assert [(row["bot"], row["matches"]) for row in table] == [(row["bot"], row["matches"]) for row in shown]
    status, text = verified(tmp_path / "held", tmp_path / "elsewhere")
    assert status == 0, text
    assert "secret: cannot be checked: it is not out yet" in text

    # Published: everything follows from the secret, which fits the commitment of the beginning.
    assert mine.post("/admin/contests/1/publish").status_code == 303
    told = json.loads(nobody(app).get("/api/v1/tournaments/1").text)
    assert told["secret"] is not None
    fairness = json.loads(nobody(app).get("/api/v1/tournaments/1/fairness").text)
    (tmp_path / "whole.zip").write_bytes(nobody(app).get("/tournaments/1/export.zip").content)
    status, text = verified(tmp_path / "whole.zip", tmp_path / "elsewhere")
    assert status == 0, text
    assert f"commitment: follows: {commitment}" in text
    assert f"digest of all results: follows: {fairness['results']}" in text
    assert fairness["pairs"] == {"1": 78}
    assert [(each["number"], each["reason"]) for each in fairness["voids"]] == [(done, "overloaded machine")]
    with ZipFile(tmp_path / "whole.zip") as archive:
        archive.extractall(tmp_path / "whole")
    places = list(csv.DictReader((tmp_path / "whole" / "final-order.csv").read_text().splitlines()))
    assert [row["place"] for row in places] == [*map(str, range(1, 12)), "", ""]
    assert {row["bot"] for row in places[11:]} == {"simple", store.entrants(1)[5].name}
    grades = mine.get("/admin/contests/1/grades.csv").text.splitlines()
    assert grades[0] == "contestant,bot,version,place,than simple:1"
    assert len(grades) == 13

    # Somebody moves himself up.
    forged = Path(shutil.copytree(tmp_path / "whole", tmp_path / "forged"))
    lines = (forged / "final-order.csv").read_text().splitlines()
    lines[1], lines[2] = lines[2], lines[1]
    (forged / "final-order.csv").write_text("\n".join(lines) + "\n")
    wrong = [str(each) for each in verify_export(forged) if each.answer is Answer.WRONG]
    assert wrong[0] == "final order: does not follow: final-order.csv:2: place '2', expected '1'"
    acts = {line.act for line in store.audit_log()}
    assert acts >= {"make", "extend", "start", "paused", "running", "void", "disqualify", "hold standings", "publish"}
