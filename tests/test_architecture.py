"""The shape of the project: who may import whom, and what a tracked file may hold."""

import ast
import fnmatch
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
PACKAGES = ("bots", "dashboard", "tournament", "workers")
TOP_LEVEL = {
    *(
        ".ci",
        ".gitignore",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "Dockerfile",
        "LICENSE",
        "README.md",
        "bots",
        "dashboard",
    ),
    *("docker-compose.yml", "docs", "pyproject.toml", "requirements.lock", "tests", "tournament", "workers"),
}

# Bottom up; a module imports from the lines above its own only.
CORE_LAYERS = (
    ("cards",),
    ("rules",),
    ("seeds",),
    ("deal",),
    ("game",),
    ("view",),
    ("observation",),
    ("source",),
    ("bot",),
    ("adapter", "replay"),
)
PURE = {f"tournament.{name}" for layer in CORE_LAYERS for name in layer}
STORE = ("tournament.models*", "tournament.store*", "tournament.settings", "tournament.migrations*")


@dataclass(frozen=True, slots=True)
class Rule:
    """What the files of one kind may import."""

    files: tuple[str, ...]
    ours: tuple[str, ...]
    theirs: tuple[str, ...]


# The first rule that fits a module holds. `theirs` are packages that are not ours, beside the standard library.
RULES = (
    Rule(("tournament.cli*", "tournament.__main__"), ("*",), ("*",)),
    Rule(STORE, ("tournament.*",), ("sqlmodel", "sqlalchemy", "alembic", "pydantic")),
    Rule(
        ("tournament.*rating*", "tournament.comparison", "tournament.sprt", "tournament.standings"),
        ("tournament.*",),
        ("numpy", "scipy"),
    ),
    Rule(("tournament", "tournament.*"), ("tournament", "tournament.*"), ()),
    Rule(
        ("workers.sandbox", "workers.sandbox.*"),
        ("tournament", *PURE, "tournament.compiled", "tournament.intake", "workers.sandbox*"),
        (),
    ),
    Rule(
        ("workers.app", "workers.tasks", "workers.worker", "workers.coordinator*", "workers.recorder*"),
        ("tournament", "tournament.*", "workers.*"),
        ("celery", "kombu", "redis", "sqlmodel", "sqlalchemy", "pydantic"),
    ),
    Rule(("workers", "workers.*"), ("tournament", "tournament.*", "workers.*"), ()),
    Rule(("dashboard", "dashboard.*"), ("tournament", "tournament.*", "dashboard*"), ("*",)),
    Rule(("bots", "bots.*"), ("bots.*", *PURE), ()),
)

# An import inside a function hides a cycle or a cost; these do neither.
LAZY_IMPORTS = {
    "tournament/cli*.py": "a command loads the extra it needs when it runs, so that the plain install stays light",
}


@dataclass(frozen=True, slots=True)
class Import:
    """One import statement."""

    file: str
    line: int
    module: str
    in_function: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.module}"


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))}


def imports_of(source: str, file: str) -> Iterator[Import]:
    """Yields every import of a file; `from a import b` as `a.b` where that is a module of ours."""

    def walk(node: ast.AST, in_function: bool) -> Iterator[Import]:
        inside = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(file, node.lineno, alias.name, in_function)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: relative import"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield Import(file, node.lineno, full if full in MODULES else str(node.module), in_function)
        for child in ast.iter_child_nodes(node):
            yield from walk(child, inside)

    return walk(ast.parse(source), in_function=False)


def fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def complaints(module: str, source: str, file: str) -> list[str]:
    """Returns what is wrong with the imports of one module, a line each."""
    rule = next(rule for rule in RULES if fits(module, rule.files))
    layer = {f"tournament.{name}": height for height, names in enumerate(CORE_LAYERS) for name in names}
    found = []
    for item in imports_of(source, file):
        top = item.module.partition(".")[0]
        if top in PACKAGES:
            allowed = fits(item.module, rule.ours)
            if fits(item.module, ("tournament.cli*",)):
                allowed = fits(module, ("tournament.cli*", "tournament.__main__"))
            if module in PURE and item.module != "tournament":
                allowed = item.module in layer and layer[item.module] < layer[module]
        else:
            allowed = top in sys.stdlib_module_names or fits(top, rule.theirs)
        if not allowed:
            found.append(f"{item}, which {module} may not")
        if item.in_function and not fits(file, tuple(LAZY_IMPORTS)):
            found.append(f"{item} inside a function")
    return found


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_what_the_arrows_allow(module: str) -> None:
    path = MODULES[module]
    found = complaints(module, path.read_text("utf-8"), str(path.relative_to(ROOT)))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("tournament.cards", "import tournament.rules"),
        ("tournament.rules", "from tournament import deal"),
        ("tournament.game", "from tournament.observation import QuestionWriter"),
        ("tournament.deal", "import numpy"),
        ("tournament.deal", "from tournament.store import Store"),
        ("tournament.schedule", "import sqlmodel"),
        ("tournament.store", "from workers.local import LocalExecutor"),
        ("tournament.store", "from tournament.cli import main"),
        ("workers.local", "import celery"),
        ("workers.local", "from dashboard import app"),
        ("workers.sandbox.guest", "from tournament.store import Store"),
        ("workers.sandbox.guest", "from workers import referee"),
        ("dashboard.app", "from workers.coordinator import lease"),
        ("dashboard.app", "def page():\n    from tournament import models"),
        ("bots.searcher", "from tournament.store import Store"),
        ("bots.counter", "import numpy"),
    ],
)
def test_an_import_against_the_arrows_is_found_and_its_file_named(module: str, source: str) -> None:
    found = complaints(module, source, "some/file.py")
    assert found
    assert all(line.startswith("some/file.py:") for line in found)


PLAIN_INSTALL_LACKS = "celery fastapi jinja2 kombu numpy psycopg redis scipy segno starlette uvicorn".split()
OTHER_SYSTEMS_LACK = "fcntl grp pty pwd resource syslog termios".split()
HIDING = """
import os, sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
for name in {hidden!r}:
    sys.modules.pop(name, None)
for name in ("fork", "getuid", "sched_setaffinity"):
    if {bare_os!r}:
        vars(os).pop(name, None)
import {module}
"""


def import_without(hidden: list[str], module: str, *, bare_os: bool = False) -> None:
    program = HIDING.format(hidden=hidden, module=module, bare_os=bare_os)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("module", sorted(name for name in ("tournament.cli", "tournament.store") if name in MODULES))
def test_the_plain_install_needs_none_of_the_extras(module: str) -> None:
    import_without(PLAIN_INSTALL_LACKS, module)


@pytest.mark.parametrize("module", sorted({*PURE, "tournament.cli"} & set(MODULES)))
def test_it_imports_where_the_modules_of_unix_are_missing(module: str) -> None:
    import_without(OTHER_SYSTEMS_LACK, module, bare_os=True)


def tracked_files() -> list[Path]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def test_the_top_level_holds_what_was_agreed_and_nothing_else() -> None:
    found = {path.relative_to(ROOT).parts[0] for path in tracked_files()}
    assert found - TOP_LEVEL == set()


# A class of one letter in each, so that this file does not hold what it forbids.
FORBIDDEN = {
    "the host of a registry": r"pypi[.]org|pythonhosted[.]org|npmjs[.](org|com)|debian[.]org|crates[.]io",
    "a path of one machine": r"(?<![\w.])/(wor[k]|root/[.]pyen[v])/|/tmp/tea[m]",
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_tracked_file_names(what: str) -> None:
    found = []
    for path in tracked_files():
        if path.suffix not in {".png", ".zip", ".gz"}:
            for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
                if re.search(FORBIDDEN[what], line):
                    found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert not found, "\n".join(found)


LOCK = (ROOT / "requirements.lock").read_text("utf-8")


def test_every_line_of_the_lock_file_is_pinned_with_hashes_and_has_no_address() -> None:
    blocks = re.findall(r"^[^ #\n].*\n(?: .*\n)*", LOCK, re.MULTILINE)
    assert len(blocks) > 50
    for block in blocks:
        assert re.match(r"[\w.-]+(\[[\w,-]+\])?==[^ ]+( ; [^\\]+)? \\\n", block), block
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block), block
    assert "://" not in LOCK
    assert "--index" not in LOCK


def test_the_lock_file_holds_a_version_of_everything_that_the_project_asks_for() -> None:
    pinned = dict(re.findall(r"^([\w.-]+)==([^ ]+)", LOCK, re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = project["project"]["optional-dependencies"].values()
    asked = [*project["project"]["dependencies"], *project["dependency-groups"]["build"], *chain(*extras)]
    for requirement in map(Requirement, [*asked, *project["build-system"]["requires"]]):
        if requirement.name != project["project"]["name"]:
            assert requirement.specifier.contains(pinned[requirement.name]), str(requirement)
