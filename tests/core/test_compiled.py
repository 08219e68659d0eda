"""Compiled modules: taken only if they are of these very sources, and only what compiles to the same is compiled."""

from __future__ import annotations

import ast
import importlib.machinery
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_architecture import MODULES, imports_of
from tournament import compiled

SUFFIX = importlib.machinery.EXTENSION_SUFFIXES[0]
NAMES = (*compiled.MODULES, f"{compiled.GROUP}__mypyc")


def files(folder: Path) -> dict[str, Path]:
    """Makes empty files where the compiled modules would be."""
    made = {name: folder.joinpath(*name.split(".")).with_suffix(SUFFIX) for name in NAMES}
    for path in made.values():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return made


def origin(module: str, value: str) -> str:
    """Returns where a fresh interpreter would take a module from, as the first of ours that it imports."""
    program = f"import importlib.util\nprint(importlib.util.find_spec({module!r}).origin)"
    environment = {**os.environ, "PYTHONPATH": str(compiled.ROOT), compiled.SWITCH: value}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr


def test_modules_compiled_from_these_sources_are_taken_unless_it_is_switched_off(tmp_path: Path) -> None:
    made = files(tmp_path / compiled.folder().name)
    assert origin("tournament.deal", str(tmp_path)) == str(made["tournament.deal"])
    assert origin("tournament.cards", str(tmp_path)) == str(compiled.source_of("tournament.cards"))
    assert origin("tournament.deal", "off") == str(compiled.source_of("tournament.deal"))


def test_modules_compiled_from_other_sources_are_not_taken(tmp_path: Path) -> None:
    files(tmp_path / f"{compiled.TAG}-{16 * '0'}")
    assert origin("tournament.deal", str(tmp_path)) == str(compiled.source_of("tournament.deal"))


def test_an_incomplete_folder_is_not_taken(tmp_path: Path) -> None:
    made = files(tmp_path / compiled.folder().name)
    made["workers.sandbox.remote"].unlink()
    assert origin("tournament.deal", str(tmp_path)) == str(compiled.source_of("tournament.deal"))


def test_a_module_of_the_workers_taken_first_is_found_compiled_too(tmp_path: Path) -> None:
    made = files(tmp_path / compiled.folder().name)
    assert origin("workers.referee", str(tmp_path)) == str(made["workers.referee"])


def test_the_digest_covers_all_that_the_compiled_modules_import() -> None:
    read = {
        each.module
        for name in compiled.MODULES
        for each in imports_of(MODULES[name].read_text("utf-8"), name)
        if each.module in MODULES and MODULES[each.module].name != "__init__.py"
    }
    checked = {"workers.sandbox.host", "workers.sandbox.plain"}  # imported for their types alone
    assert read - set(compiled.MODULES) - checked <= set(compiled.READ)
    assert set(compiled.READ) <= read


@pytest.mark.parametrize("module", compiled.MODULES)
def test_the_bounds_of_a_slice_call_nothing(module: str) -> None:
    """mypyc evaluates them twice (seen with mypy 2.4.1: `view[os.write(descriptor, view) :]` wrote twice)."""
    for node in ast.walk(ast.parse(compiled.source_of(module).read_text("utf-8"))):
        if isinstance(node, ast.Slice):
            bounds = [bound for bound in (node.lower, node.upper, node.step) if bound is not None]
            inner = [each for bound in bounds for each in ast.walk(bound)]
            bad = [each for each in inner if isinstance(each, ast.Call | ast.NamedExpr | ast.Await)]
            assert not [each for each in bad if ast.unparse(each).partition("(")[0] != "len"], ast.unparse(node)


def test_no_class_inherits_from_one_that_may_be_compiled() -> None:
    """Python refuses that where it is compiled; `BotError` and `IllegalAction` are exceptions, which nobody extends."""
    classes = {
        name: {node.name for node in ast.parse(compiled.source_of(name).read_text("utf-8")).body
               if isinstance(node, ast.ClassDef)}
        for name in compiled.MODULES
    }  # fmt: skip
    for name, path in MODULES.items():
        tree = ast.parse(path.read_text("utf-8"))
        imported = {
            alias.asname or alias.name
            for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
            for alias in node.names if alias.name in classes.get(node.module or "", ())
        }  # fmt: skip
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
                assert not bases & imported, f"{name}: {node.name} inherits from {', '.join(bases & imported)}"
