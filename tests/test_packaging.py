"""What is built and handed out."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("bots", "dashboard", "tournament", "workers")


def test_the_wheel_holds_every_tracked_file_of_the_packages(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        built = {name for name in archive.namelist() if name.partition("/")[0] in PACKAGES}
        (points,) = (name for name in archive.namelist() if name.endswith("/entry_points.txt"))
        assert "tournament = tournament.cli:main" in archive.read(points).decode()
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *PACKAGES]
    listed = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    assert built == {name for name in listed if name and (ROOT / name).exists()}
    assert {f"{package}/py.typed" for package in PACKAGES} <= built
