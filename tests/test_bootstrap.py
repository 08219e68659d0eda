"""The command that makes the environment, and that everybody is told the same commands."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LOCK = (ROOT / "requirements.lock").read_text("utf-8")


@pytest.fixture(scope="module")
def bootstrap() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bootstrap", ROOT / ".ci" / "bootstrap.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def selected(bootstrap: ModuleType, *extras: str) -> set[str]:
    part = bootstrap.select(LOCK, bootstrap.wanted(PROJECT, {"base", *extras}))
    return set(re.findall(r"^([\w.-]+)==", part, re.MULTILINE))


def test_the_demo_installs_what_it_needs_and_no_more(bootstrap: ModuleType) -> None:
    names = selected(bootstrap, "ratings")
    assert names >= {
        "typer",
        "rich",
        "sqlmodel",
        "alembic",
        "numpy",
        "scipy",
        "sqlalchemy",
        "pydantic-core",
        "hatchling",
    }
    assert not names & {"celery", "redis", "psycopg", "fastapi", "jinja2", "pytest", "mypy", "playwright", "pandas"}
    assert not selected(bootstrap) & {"numpy", "scipy"}


@pytest.mark.parametrize("extras", [("ratings",), ("server",), ("distributed",), ("test", "lint"), ("browser",)])
def test_whatever_a_selected_package_requires_is_selected_too(bootstrap: ModuleType, extras: tuple[str, ...]) -> None:
    names, looked_at = selected(bootstrap, *extras), 0
    for name in names:
        try:
            lines = requires(name) or []
        except PackageNotFoundError:
            continue  # pinned for another system, or not in this environment
        looked_at += 1
        for requirement in map(Requirement, lines):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                assert bootstrap.plain(requirement.name) in names, f"{name} requires {requirement}"
    assert looked_at > 20


def test_a_lock_file_that_lacks_a_package_is_refused(bootstrap: ModuleType) -> None:
    with pytest.raises(ValueError, match="lacks left-pad"):
        bootstrap.select(LOCK, {"numpy", "left-pad"})


def test_an_older_python_is_refused_with_one_line() -> None:
    source = (ROOT / ".ci" / "bootstrap.py").read_text("utf-8")
    program = f"import sys; sys.version_info = (3, 10, 2); exec({source!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.fullmatch(r"This project needs Python 3\.11 or newer; this is 3\.10 \(.*\)\.\n", done.stderr)


def test_the_readme_gives_the_two_commands_and_ci_runs_the_second() -> None:
    block = re.search(r"```sh\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert block is not None
    commands = [line.partition("#")[0].strip() for line in block[1].splitlines()]
    assert commands == ["python3 .ci/bootstrap.py demo", "python3 .ci/bootstrap.py test"]
    assert f"\nstep {commands[1]}\n" in (ROOT / ".ci" / "run").read_text("utf-8")
