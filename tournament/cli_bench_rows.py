"""The rows of `tournament bench`: each measures ours and what it is compared with by turns, in one run."""

from __future__ import annotations

import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path

from tournament import bench_core, bench_store, compiled
from tournament.bench_peers import NAMES, PACKAGES, Peers
from tournament.rules import Rules
from workers import bench as matches
from workers.sandbox.host import Sandbox

SAMPLE_S = 0.3
COLUMNS = ("what", "value", "against", "ratio", "aim", "remark")
_BEGIN, _END = "<!-- measured -->", "<!-- end -->"
_MODES = (
    Rules.make("cutthroat", players=2),
    Rules.make("cutthroat"),
    Rules.make("wisconsin", bidder_takes=0),
    Rules.make("wisconsin"),
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table.

    Attributes:
        what: what was measured.
        value: how much, with its unit.
        against: what it is compared with.
        ratio: the median of the ratios of each round; None where there is nothing to compare with.
        aim: the ratio that is wanted at least (``>=``) or at most (``<=``), if any.
        remark: why there is no figure, or what to know about it.
    """

    what: str
    value: str
    against: str = ""
    ratio: float | None = None
    aim: str = ""
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """What the rows share: the peers, and how often each pair is measured."""

    peers: Peers
    rounds: int


def _ours(rounds: Callable[[Rules], Iterator[int]], rules: Rules) -> float:
    return bench_core.measure(rounds(rules), SAMPLE_S, time.process_time).per_s


def _beside(run: Run, ours: Mapping[str, Callable[[], float]], peers: Mapping[str, str]) -> Iterator[Line]:
    """Measures ours and the peers by turns; yields a line for each pair. `peers` has the aim of each."""
    rates: dict[str, list[float]] = {name: [] for name in ours}
    theirs: dict[str, list[float]] = {name: [] for name in peers}
    missing: dict[str, str] = {}
    for _ in range(run.rounds):
        for name, measured in ours.items():
            rates[name].append(measured())
        for name in peers:
            rate = run.peers.rate(name, SAMPLE_S)
            if isinstance(rate, str):
                missing[name] = rate
            else:
                theirs[name].append(rate)
    for peer, aim in peers.items():
        for name, found in rates.items():
            value = f"{statistics.median(found):,.0f}/s"
            if peer in missing:
                yield Line(name, value, NAMES[peer], None, aim, missing[peer])
                continue
            against = f"{NAMES[peer]}, {statistics.median(theirs[peer]):,.0f}/s"
            ratio = statistics.median(one / other for one, other in zip(found, theirs[peer], strict=True))
            yield Line(name, value, against, ratio, aim)


def _modes(what: str, rounds: Callable[[Rules], Iterator[int]]) -> dict[str, Callable[[], float]]:
    return {
        f"{what}, {each.mode}" + (f", {each.bidder_takes} taken" if each.bidder_takes else ""): partial(
            _ours, rounds, each
        )
        for each in _MODES
    }


def _engine(run: Run) -> Iterator[Line]:
    yield from _beside(run, _modes("rules engine", bench_core.deals), {"open_spiel": ">= 1", "rlcard": ">= 25"})
    yield from _beside(run, _modes("with every shuffle", bench_core.games), {"open_spiel": "", "rlcard": ">= 25"})


def _view(run: Run) -> Iterator[Line]:
    nothing, everything = bench_core.LOOK_AT_NOTHING, bench_core.LOOK_AT_ALL
    for fields, shuffled, what, aim in (
        (nothing, False, "with a view", ">= 1"),
        (everything, False, "all fields read", ">= 1"),
        (nothing, True, "a view, every shuffle", ""),
    ):
        rounds = partial(bench_core.views, fields=fields, shuffled=shuffled)
        yield from _beside(run, _modes(what, rounds), {"open_spiel_text": aim})


def _decision(run: Run) -> Iterator[Line]:
    bare: dict[int, list[float]] = {1: [], 2: [], 4: []}
    ours: dict[int, list[float]] = {2: [], 4: []}
    acts: dict[int, list[float]] = {2: [], 4: []}
    with Sandbox(numpy=False) as sandbox:
        for _ in range(2 * run.rounds):
            for peers, found in bare.items():
                found.append(matches.round_trip_s(peers))
            for rules in (matches.TWO, matches.FOUR):
                cost = matches.play(sandbox, rules)
                ours[rules.players].append(cost.cpu_s / cost.asked)
                acts[rules.players].append(cost.cpu_s / cost.acts)
    for seats, aim in ((2, "<= 2.6"), (4, "<= 3")):
        name, value = f"sandboxed question in a whole game, {seats} seats", _micro(ours[seats])
        alone = f"bare pipe round trip, {_micro(bare[1])}"
        yield Line(name, value, alone, _ratio(ours[seats], bare[1]), aim)
        against = f"bare round trips with {seats} processes in turn, {_micro(bare[seats])}"
        yield Line(name, value, against, _ratio(ours[seats], bare[seats]))
        yield Line(f"an act, forced ones too, {seats} seats", _micro(acts[seats]), alone, _ratio(acts[seats], bare[1]))


def _rate(run: Run) -> Iterator[Line]:
    with Sandbox(numpy=False) as sandbox:
        ours = {
            f"sandboxed acts, forced ones too, {rules.players} seats": partial(matches.acts_per_s, sandbox, rules)
            for rules in (matches.TWO, matches.FOUR)
        }
        yield from _beside(run, ours, {"rlcard": ">= 4.6", "pettingzoo": ">= 15", "kaggle": ">= 30"})


def _cores(run: Run) -> Iterator[Line]:
    found = matches.cores(run.rounds)
    if found is None:
        yield Line("two matches on two cores", "", "one match on one core", None, ">= 1.8", "one core here")
        return
    one, two = found
    yield Line(
        "two matches on two cores", f"{two:.1f}/s", f"one match on one core, {one:.1f}/s", two / one, ">= 1.8",
        f"wall time, at a load average of {os.getloadavg()[0]:.1f}",
    )  # fmt: skip


def _ready(run: Run) -> Iterator[Line]:
    fresh, ready, private = [], [], []
    with matches.KeptSandbox() as sandbox:
        for _ in range(6 * run.rounds):
            fresh.append(matches.fresh_interpreter_s())
            ready_s, private_bytes = matches.one_guest(sandbox)
            ready.append(ready_s)
            private += [private_bytes] if private_bytes is not None else []
    against = f"python -I -S -c pass, {_micro(fresh)}"
    yield Line("guest ready: fork, lock-down, bot loaded", _micro(ready), against, _ratio(ready, fresh), "<= 0.5")
    if private:
        value = f"{statistics.median(private) / 1e6:.2f} MB"
        yield Line("one more guest, private memory", value, aim="<= 1.5 MB")
    else:
        yield Line("one more guest, private memory", "", aim="<= 1.5 MB", remark="only root may look into a guest")


def _thinking(run: Run) -> Iterator[Line]:
    pairs = [matches.thinking() for _ in range(max(1, run.rounds // 2))]
    over = statistics.median(used / own - 1 for used, own in pairs)
    value = f"{statistics.median(used for used, _ in pairs):.2f} s"
    yield Line("bots that think 20 ms: overhead", value, f"the bots' own, {pairs[0][1]:.2f} s", over, "<= 0.02")


def _distributed(run: Run) -> Iterator[Line]:
    del run
    what, against = "distributed path, two slots, matches/s", "local executor, the same matches"
    command = [sys.executable, "-m", "tests.servers.scale", "overhead"]
    root = Path(__file__).parents[1]
    if not (root / "tests").is_dir():
        yield Line(what, "", against, None, ">= 0.7", "needs a checkout of the project, Redis and PostgreSQL")
        return
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    rates = re.findall(r"^\| (?:local executor|coordinator).*?\| ([\d.]+) \| ([\d.]+) \|", done.stdout, re.MULTILINE)
    if len(rates) != 2:
        yield Line(what, "", against, None, ">= 0.7", "Redis or PostgreSQL are not to be had here")
        return
    (here, here_ms), (far, far_ms) = ((float(rate), float(ms)) for rate, ms in rates)
    yield Line(what, f"{far:.1f}/s", f"{against}, {here:.1f}/s", far / here, ">= 0.7", "wall time")
    against = f"{against}, {here_ms:.1f} ms"
    yield Line("distributed path, CPU of all processes a match", f"{far_ms:.1f} ms", against, far_ms / here_ms)


def _flat(run: Run) -> Iterator[Line]:
    del run
    first, last = bench_store.growth()
    against = f"of the first 1,000, {1e6 * first:,.0f} µs"
    yield Line("a match in the store, after 100,000", f"{1e6 * last:,.0f} µs", against, last / first, "<= 1.1")


def _refit(run: Run) -> Iterator[Line]:
    del run
    full, more = bench_store.refit()
    what = "standings after ten more matches, 100 bots, a million games"
    yield Line(what, f"{1e3 * more:.0f} ms", f"from the rows, {1e3 * full:.0f} ms", more / full, "<= 0.1")


MEASURES: dict[str, Callable[[Run], Iterator[Line]]] = {
    "engine": _engine,
    "view": _view,
    "decision": _decision,
    "rate": _rate,
    "cores": _cores,
    "ready": _ready,
    "thinking": _thinking,
    "distributed": _distributed,
    "flat": _flat,
    "refit": _refit,
}


def circumstances() -> dict[str, str]:
    """Says when, where and with what was measured."""
    model = next(
        (line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines()
         if line.startswith("model name")), platform.machine(),
    )  # fmt: skip
    # Under `chrt --fifo 1` no other program runs between a question and its answer, as on a quiet machine.
    alone = ", alone on the core (chrt --fifo)" if os.sched_getscheduler(0) == os.SCHED_FIFO else ""
    names = ("numpy", "scipy", "sqlalchemy")
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{os.cpu_count()} cores, {model}, Linux {platform.release().split('-')[0]}",
        "load": f"{os.getloadavg()[0]:.1f}{alone}",
        "versions": ", ".join(
            [
                f"Python {platform.python_version()}, core {'' if compiled.in_use() else 'not '}compiled",
                *(f"{name} {version(name)}" for name in names),
            ]
        ),
        "peers": ", ".join(package for packages in PACKAGES.values() for package in packages),
    }


def write_document(path: Path, order: Sequence[str], found: dict[str, list[Line]]) -> None:
    """Replaces the rows that were measured in a Markdown file; the others keep what they say, with their own date."""
    text = path.read_text("utf-8") if path.exists() else f"{_BEGIN}\n{_END}\n"
    before, _, rest = text.partition(_BEGIN)
    old, _, after = rest.partition(_END)
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^### |\Z)", old, re.MULTILINE | re.DOTALL))
    facts = circumstances()
    for name, lines in found.items():
        head = f"\n{facts['date']}, load average {facts['load']}; {facts['machine']}; {facts['versions']}.\n\n"
        rows = ("| " + " | ".join(cells_of(line)) + " |\n" for line in lines)
        sections[name] = f"{head}| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|\n{''.join(rows)}\n"
    body = "".join(f"### {name}\n{sections[name]}" for name in order if name in sections)
    path.write_text(f"{before}{_BEGIN}\n\n{body}{_END}{after}", "utf-8")


def cells_of(line: Line) -> Sequence[str]:
    """Returns the texts of a line of the table."""
    ratio = "" if line.ratio is None else f"{line.ratio:.3f}" if line.ratio < 0.1 else f"{line.ratio:.2f}"
    return line.what, line.value, line.against, ratio, line.aim, line.remark


def _micro(seconds: Sequence[float]) -> str:
    return f"{1e6 * statistics.median(seconds):,.1f} µs"


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    return statistics.median(one / other for one, other in zip(ours, theirs, strict=True))
