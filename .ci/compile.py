"""Compiles the modules on the path of every decision with mypyc, for the Python that runs this.

    python3 .ci/bootstrap.py compile [FOLDER]

Needs a C compiler and Python's headers, and takes about half a minute. FOLDER is what TOURNAMENT_COMPILED will name; by
default the environment's own. What an earlier run made for this Python is deleted.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

# The sources are to be read, not what an earlier run made of them.
os.environ["TOURNAMENT_COMPILED"] = sys.argv[1] if len(sys.argv) > 1 else ""

from mypyc.build import mypycify
from setuptools import Distribution
from setuptools.command.build_ext import build_ext

from tournament import compiled


def main() -> None:
    """Compiles into a folder beside the final one, which appears when it is complete."""
    home = compiled.home()
    final = compiled.folder()
    os.chdir(compiled.ROOT)  # mypyc derives the names of modules from the paths of files
    sources = [str(compiled.source_of(module).relative_to(compiled.ROOT)) for module in compiled.MODULES]
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home) as folder:
        extensions = mypycify(
            ["--follow-imports=silent", f"--cache-dir={folder}/types", *sources],
            opt_level="3",
            debug_level="0",
            group_name=compiled.GROUP,
            target_dir=f"{folder}/c",
        )
        build = build_ext(Distribution({"ext_modules": extensions}))
        build.build_lib, build.build_temp = f"{folder}/lib", f"{folder}/temp"
        build.parallel = os.cpu_count()
        build.ensure_finalized()
        build.run()
        for old in home.glob(f"{compiled.TAG}-*"):
            shutil.rmtree(old)
        Path(folder, "lib").rename(final)
    print(f"Compiled {len(sources)} modules into {final}")


if __name__ == "__main__":
    main()
