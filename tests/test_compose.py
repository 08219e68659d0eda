"""What `docker-compose.yml` and the `Dockerfile` promise, held without a container engine."""

import copy
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
FILE = ROOT / "docker-compose.yml"
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
Compose = dict[str, Any]


@pytest.fixture
def compose() -> Compose:
    loaded: Compose = yaml.safe_load(FILE.read_text("utf-8"))
    return loaded


def broken_references(compose: Compose) -> Iterator[str]:
    """Yields what is used and not defined, or defined and not used."""
    services = compose["services"]
    for kind in ("networks", "secrets", "volumes"):
        used = {name.partition(":")[0] for service in services.values() for name in service.get(kind, [])}
        yield from (f"{kind}: {name}" for name in used ^ set(compose[kind]))
    for name, service in services.items():
        for other, condition in service.get("depends_on", {}).items():
            if other not in services:
                yield f"{name} depends on {other}, which is not there"
            elif condition["condition"] == "service_healthy" and "test" not in services[other].get("healthcheck", {}):
                yield f"{name} waits for the health of {other}, which is never looked at"
        for variable, value in service.get("environment", {}).items():
            if variable.endswith("_FILE") and Path(value).name not in service["secrets"]:
                yield f"{name}: {variable} names a secret that it is not given"


def leaks(compose: Compose) -> Iterator[str]:
    """Yields what a worker could reach or learn, though it was promised that it could not."""
    services = compose["services"]
    worker = services["worker"]
    if worker["networks"] != ["broker"] or not compose["networks"]["broker"]["internal"]:
        yield "a worker has a way to more than the broker"
    if {name for name, service in services.items() if "broker" in service["networks"]} != {
        "redis",
        "coordinator",
        "worker",
    }:
        yield "others than Redis and the coordinator are on a worker's network"
    if services["db"]["networks"] != ["trusted"] or not compose["networks"]["trusted"]["internal"]:
        yield "the database is to be reached from outside the trusted network"
    if worker["secrets"] != ["broker_url_worker"] or set(worker["environment"]) != {
        "TOURNAMENT_BROKER_URL_FILE",
        "TOURNAMENT_HEARTBEAT",
    }:
        yield "a worker knows more than its Redis account"
    if worker.get("volumes"):
        yield "a worker keeps something"


def loose_containers(compose: Compose) -> Iterator[str]:
    """Yields what a container could do, though it was promised that none could."""
    for name, service in compose["services"].items():
        if "ports" in service and name != "web":
            yield f"{name} publishes a port"
        if service["cap_drop"] != ["ALL"] or (service.get("cap_add") and name != "db"):
            yield f"{name} has capabilities"
        if "no-new-privileges:true" not in service["security_opt"]:
            yield f"{name} may gain privileges"
        if name != "db" and (service.get("user", "0").startswith("0") or not service.get("read_only")):
            yield f"{name} is root, or writes into its image"
        if not service.get("mem_limit") or service["mem_limit"] != service.get("memswap_limit"):
            yield f"{name} has no limit of memory, or swaps"
        if not service.get("pids_limit"):
            yield f"{name} has no limit of processes"
        if "container_name" in service:
            yield f"{name} cannot be scaled"
        if not re.search(r":(\d|local$)", service["image"]):
            yield f"{name}: which version of {service['image']}?"


def unwatched(compose: Compose) -> Iterator[str]:
    """Yields what may be dead without anybody seeing it."""
    for name, service in compose["services"].items():
        health = service.get("healthcheck", {})
        inherited = service["image"].startswith("smear-") and service["command"][0] == "serve" and not health
        if service["restart"] != "no" and not health.get("test") and not inherited:
            yield f"{name} has no health check"
        if "workers.heartbeat" in health.get("test", ()) and "TOURNAMENT_HEARTBEAT" not in service["environment"]:
            yield f"{name} touches no file that its health check could look at"


def test_it_fits_the_specification_of_compose() -> None:
    command = ["check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(FILE)]
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_all_that_it_names_is_there(compose: Compose) -> None:
    assert list(broken_references(compose)) == []


def test_a_worker_reaches_and_learns_nothing_that_it_need_not(compose: Compose) -> None:
    assert list(leaks(compose)) == []


def test_no_container_can_do_more_than_it_must(compose: Compose) -> None:
    assert list(loose_containers(compose)) == []


def test_every_container_that_stays_is_watched(compose: Compose) -> None:
    assert list(unwatched(compose)) == []
    assert "/healthz" in re.findall(r"^HEALTHCHECK .*\\\n *CMD (.*)$", DOCKERFILE, re.MULTILINE)[0]


def give(service: str, key: str, value: object) -> Callable[[Compose], None]:
    def change(compose: Compose) -> None:
        compose["services"][service][key] = value

    return change


def open_network(name: str) -> Callable[[Compose], None]:
    def change(compose: Compose) -> None:
        compose["networks"][name]["internal"] = False

    return change


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (give("worker", "networks", ["broker", "trusted"]), "more than the broker"),
        (give("worker", "networks", ["broker", "public"]), "more than the broker"),
        (give("web", "networks", ["trusted", "broker"]), "others than Redis"),
        (give("db", "networks", ["trusted", "broker"]), "from outside the trusted"),
        (open_network("broker"), "more than the broker"),
        (open_network("trusted"), "from outside the trusted"),
        (give("worker", "secrets", ["broker_url_worker", "database_url"]), "knows more"),
        (give("worker", "environment", {"TOURNAMENT_DATABASE_URL": "x"}), "knows more"),
        (give("worker", "volumes", ["database:/data"]), "keeps something"),
        (give("redis", "ports", ["6379:6379"]), "publishes a port"),
        (give("worker", "cap_add", ["SYS_ADMIN"]), "has capabilities"),
        (give("web", "security_opt", []), "may gain privileges"),
        (give("worker", "user", "0:0"), "is root"),
        (give("worker", "read_only", False), "writes into its image"),
        (give("worker", "memswap_limit", "9g"), "swaps"),
        (give("worker", "pids_limit", 0), "no limit of processes"),
        (give("worker", "container_name", "worker"), "cannot be scaled"),
        (give("redis", "image", "redis:latest"), "which version"),
        (give("worker", "healthcheck", {"disable": True}), "no health check"),
        (give("web", "healthcheck", {"disable": True}), "no health check"),
        (give("coordinator", "environment", {}), "touches no file"),
    ],
)
def test_a_broken_promise_is_found(compose: Compose, change: Callable[[Compose], None], complaint: str) -> None:
    changed = copy.deepcopy(compose)
    change(changed)
    found = [*leaks(changed), *loose_containers(changed), *unwatched(changed)]
    assert any(complaint in line for line in found), found


def test_the_script_makes_every_secret_and_keeps_what_is_there(compose: Compose, tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    script = [sys.executable, str(ROOT / ".ci" / "compose_secrets.py"), str(folder)]
    subprocess.run(script, check=True, capture_output=True)
    made = {path.name: path.read_text("utf-8") for path in folder.iterdir()}
    assert set(made) == set(compose["secrets"])
    assert folder.stat().st_mode & 0o777 == 0o700
    password = made["database_password"].strip()
    assert made["database_url"] == f"postgresql+psycopg://smear:{password}@db:5432/smear\n"
    for user in ("coordinator", "worker"):
        found = re.match(rf"redis://{user}:(\w+)@redis:6379/0\n", made[f"broker_url_{user}"])
        assert found is not None
        assert f"user {user} on >{found[1]} " in made["redis_users"]
    assert made["redis_users"].startswith("user default off\n")
    subprocess.run(script, check=True, capture_output=True)
    assert {path.name: path.read_text("utf-8") for path in folder.iterdir()} == made


def test_the_secrets_of_compose_stay_out_of_the_repository() -> None:
    done = subprocess.run(["git", "check-ignore", "secrets/signing_key"], cwd=ROOT, check=False, capture_output=True)
    assert done.returncode == 0


def test_the_image_is_built_from_the_lock_file_and_runs_as_an_ordinary_user() -> None:
    assert "bootstrap.py with server,distributed true" in DOCKERFILE
    assert not re.search(r"\bpip3? install\b", DOCKERFILE)
    assert re.findall(r"^USER (.*)$", DOCKERFILE, re.MULTILINE) == ["10001:10001"]
    for line in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.MULTILINE):
        for source in line.split()[:-1]:
            assert (ROOT / source).exists(), source


def test_every_package_of_the_wheel_is_in_the_image() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests"}
    assert set(re.findall(r"^COPY (\w+) /app/\1$", DOCKERFILE, re.MULTILINE)) == packages


def commands_named() -> list[list[str]]:
    """Returns what the containers run, the image by itself included."""
    loaded: Compose = yaml.safe_load(FILE.read_text("utf-8"))
    alone = re.search(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)
    assert alone is not None
    ours = [service["command"] for service in loaded["services"].values() if service["image"].startswith("smear-")]
    return [*ours, yaml.safe_load(alone[1])]


@pytest.mark.skipif(not (ROOT / "tournament" / "cli.py").exists(), reason="the command is not there yet")
@pytest.mark.parametrize("command", commands_named(), ids=shlex.join)
def test_the_command_of_a_container_exists_with_its_options(command: list[str]) -> None:
    options = [part for part in command[1:] if part.startswith("--")]
    program = "from tournament.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, command[0], "--help"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "", "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"},
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    for option in options:
        assert option in done.stdout
