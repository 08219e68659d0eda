"""What is played only where the sandbox is strong enough."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tournament import cli_local
from tournament.cli_common import Refused
from tournament.cli_run import resume
from tournament.models_people import FIRST_ACCOUNT
from tournament.rules import Rules
from tournament.source import BotSource
from tournament.store import Store
from tournament.store_values import NewEntrant, NewTournament
from workers.local import LocalExecutor
from workers.sandbox.faults import SandboxRefused

ROOT = Path(__file__).parents[2]
RUN = (sys.executable, "-m", "tournament", "run", "simple", "random", "--players", "2", "--rounds", "1")
AS_ONE_USER = ("setpriv", "--bounding-set", "-setuid,-setgid", "--inh-caps", "-setuid,-setgid")
"""Root without the right to become somebody else."""


def done(*command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not shutil.which("setpriv") or os.geteuid() != 0, reason="only root has users to give up")
def test_a_run_that_demands_users_of_their_own_is_refused_in_one_line_where_there_are_none(tmp_path: Path) -> None:
    refused = done(*AS_ONE_USER, *RUN, "--demand", "own-uid", folder=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1].startswith("tournament: this tournament is not played here: without own-uid")
    assert refused.stdout == ""


class NoSandbox(LocalExecutor):
    """The executor of a machine without a sandbox."""

    def __init__(self, *_: object, plain: bool = False) -> None:
        assert not plain, "an upload runs without the sandbox"

    def wait_ready(self) -> None:
        raise SandboxRefused("no seccomp here")

    def close(self) -> None: ...


def test_an_uploaded_bot_is_never_played_without_the_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_local, "LocalExecutor", NoSandbox)
    store = Store(str(tmp_path / "contest.db"))
    store.migrate()
    source = BotSource.of_file(b"class Bot: ...")
    entrants = [NewEntrant(name, 1, source, owner=FIRST_ACCOUNT, upload_order=n) for n, name in enumerate(("a1", "b1"))]
    found = store.create_running(NewTournament("cup", Rules.make("cutthroat", players=2), 1, "secret"), entrants)
    with pytest.raises(Refused, match="bots of others are played in the sandbox only: no seccomp here"):
        resume(found, jobs=1, db=store.url)
    assert store.counts(found).queued == 1
    store.close()
