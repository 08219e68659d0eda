"""Makes this project's virtual environment, as far as a command needs it, and runs the command there.

    python3 .ci/bootstrap.py demo               play a tournament of the house bots
    python3 .ci/bootstrap.py test [PYTEST ARGS] lint, types, tests (`--cov`: coverage too)
    python3 .ci/bootstrap.py compile [FOLDER]   the core as machine code: half a minute, needs a C compiler
    python3 .ci/bootstrap.py with EXTRAS PROGRAM [ARGS]

`with` takes extras of `pyproject.toml`, separated by commas (`base` for none), and a program of the environment:
`with server tournament serve`. The environment is `.venv`, or what VENV names. It holds exactly what the lock file
pins, checked by hash, and is made anew when the lock file, `pyproject.toml` or the Python changes. This file needs
the standard library only.
"""

import sys

if sys.version_info < (3, 11):  # before any import that an older Python lacks
    sys.exit("This project needs Python 3.11 or newer; this is %d.%d (%s)." % (*sys.version_info[:2], sys.executable))

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import tomllib
import venv
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
PROJECT = ROOT / "pyproject.toml"
PROGRAMS = "Scripts" if os.name == "nt" else "bin"
TEST_EXTRAS = ("test", "lint")


def plain(name: str) -> str:
    """Returns the name of a distribution as the lock file spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def wanted(project: dict[str, Any], extras: set[str]) -> set[str]:
    """Returns the distributions that the project names for `extras`, and for building itself.

    Raises:
        KeyError: for an extra that `pyproject.toml` does not have.
    """
    optional = project["project"]["optional-dependencies"]
    lines = [*project["project"]["dependencies"], *project["dependency-groups"]["build"]]
    names: set[str] = set()
    for extra in extras - {"base"}:
        lines += optional[extra]
    for line in lines:
        found = re.match(r"([\w.-]+)(?:\[([\w,. -]+)\])?", line)
        if found is None:
            raise ValueError(f"pyproject.toml: not a requirement: {line!r}")
        if plain(found[1]) == project["project"]["name"]:
            names |= wanted(project, set(re.split(r"\s*,\s*", found[2])))
        else:
            names.add(plain(found[1]))
    return names


def select(lock: str, names: set[str]) -> str:
    """Returns the part of the lock file that `names` need, by the `# via` lines that tell who needs what."""
    blocks: list[tuple[str, str, set[str]]] = []
    for block in re.findall(r"^\w.*\n(?:[ #].*\n)*", lock, re.MULTILINE):
        name = plain(re.split(r"==", block, maxsplit=1)[0])
        comments = re.findall(r"^ +#(?:   | via )([\w.-]+)$", block, re.MULTILINE)
        blocks.append((name, block, {plain(parent) for parent in comments}))
    missing = names - {name for name, _, _ in blocks}
    if missing:
        raise ValueError(f"requirements.lock lacks {', '.join(sorted(missing))}: make it anew (CONTRIBUTING.md)")
    size = -1
    while len(names) != size:
        size = len(names)
        names = names | {name for name, _, parents in blocks if parents & names}
    return "".join(block for name, block, _ in blocks if name in names)


def run(*command: str | Path) -> None:
    """Runs a step of the installation; what it prints goes to standard error.

    Raises:
        SystemExit: if the step fails.
    """
    if subprocess.run([str(part) for part in command], cwd=ROOT, stdout=sys.stderr, check=False).returncode:
        sys.exit("The installation failed: " + " ".join(str(part) for part in command[:5]) + " …")


def pip_of(home: Path) -> list[str]:
    """Returns the command that installs into the environment.

    Raises:
        SystemExit: if this Python brings no pip to do it with.
    """
    python = str(home / PROGRAMS / "python")
    if find_spec("ensurepip"):
        return [python, "-m", "pip"]
    if find_spec("pip"):
        return [sys.executable, "-m", "pip", "--python", python]
    sys.exit(f"{sys.executable} has neither ensurepip nor pip: install one (Debian: the package python3-venv).")


def prepare(home: Path, extras: set[str]) -> None:
    """Brings the environment to the state that `extras` need; does nothing if it is there already."""
    lock, project = LOCK.read_text("utf-8"), PROJECT.read_text("utf-8")
    digest = hashlib.sha256("\0".join((sys.version, str(ROOT), lock, project)).encode()).hexdigest()
    stamp = home / "smear-stamp.json"
    state = json.loads(stamp.read_text("utf-8")) if stamp.exists() else {}
    held = set(state["extras"]) if state.get("digest") == digest else set()
    if held >= extras:
        return
    print(f"Installing {', '.join(sorted(extras - held))} into {home} …", file=sys.stderr, flush=True)
    pip = [*pip_of(home), "-qq", "--no-input", "--disable-pip-version-check", "install", "--no-deps"]
    if not held:
        shutil.rmtree(home, ignore_errors=True)
        venv.create(home, with_pip=find_spec("ensurepip") is not None)
    extras = extras | held
    with tempfile.TemporaryDirectory() as folder:
        selection = Path(folder) / "selection.txt"
        selection.write_text(select(lock, wanted(tomllib.loads(project), extras)), "utf-8")
        run(*pip, "--only-binary", ":all:", "--require-hashes", "-r", selection)
    # Built with what the lock file pins, so nothing is fetched that no hash has checked.
    run(*pip, "--no-build-isolation", "--editable", ROOT)
    stamp.write_text(json.dumps({"digest": digest, "extras": sorted(extras)}), "utf-8")


def start(home: Path, program: str, *args: str) -> int:
    """Runs a program of the environment, or of the machine if the environment lacks it, and returns its status."""
    programs = home / PROGRAMS
    path = os.pathsep.join([str(programs), os.environ.get("PATH", "")])
    found = shutil.which(program, path=path)
    if found is None:
        sys.exit(f"{program}: not in {programs}, nor on PATH")
    try:
        environment = {**os.environ, "PATH": path, "VIRTUAL_ENV": str(home)}
        return subprocess.run([found, *args], cwd=ROOT, env=environment, check=False).returncode
    except KeyboardInterrupt:
        return 130


def test(home: Path, args: tuple[str, ...]) -> int:
    """Runs every check that a change must pass, all of them even if one fails; returns 0 if all passed.

    All at once: the tests wait now and then, and leave the others room.
    """
    tests = ("pytest", "-n", "2", "--dist", "worksteal", *args)
    others = (
        ("ruff", "check", "--quiet", "--output-format=concise", "."),
        ("ruff", "format", "--check", "--quiet", "--output-format=concise", "."),
        ("mypy",),
    )
    for step in (*others, tests):
        print("$", *step, flush=True)
    with ThreadPoolExecutor() as pool:
        beside = {step: pool.submit(start, home, *step) for step in others}
        statuses = {tests: start(home, *tests)}
    statuses |= {step: each.result() for step, each in beside.items()}
    failed = [" ".join(step[:2]) for step, status in statuses.items() if status]
    print("FAILED: " + ", ".join(failed) if failed else "All checks passed.", flush=True)
    return 1 if failed else 0


def main(args: tuple[str, ...]) -> int:
    """Does what the command line says; returns the exit status."""
    home = Path(os.environ.get("VENV") or ROOT / ".venv").absolute()
    if args[:1] == ("demo",):
        prepare(home, {"base", "ratings"})
        return start(home, "tournament", *args)
    if args[:1] == ("test",):
        prepare(home, {"base", *TEST_EXTRAS})
        return test(home, args[1:])
    if args[:1] == ("compile",):
        prepare(home, {"base", "compile"})
        return start(home, "python", ".ci/compile.py", *args[1:])
    if args[:1] == ("with",) and len(args) > 2:
        prepare(home, {"base", *args[1].split(",")})
        return start(home, *args[2:])
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:])))
