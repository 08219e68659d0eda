"""The commands for taking part in a contest on a server: `join` and `submit`."""

from __future__ import annotations

import json as json_module
import os
import time
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

import typer

from tournament import tokens
from tournament.cli_common import BOTS, Json, Refused, Save, notes, out, print_json
from tournament.intake import read_bot
from tournament.remote import Remote, upload_of

app = typer.Typer()

POLL_S: Final = 0.5
EXIT_CODES: Final = {"accepted": 0, "rejected": 1, "failed": 3}


@app.command(rich_help_panel=BOTS)
def join(
    link: Annotated[str, typer.Argument(help="The link that you were given.")],
    name: Annotated[str, typer.Option(help="The name that others see: yours, or your team's.")] = "",
    show: Annotated[bool, typer.Option("--show", help="Print the token instead of keeping it in a file.")] = False,
) -> None:
    """Join a contest, claim an installation or take over an account, with a link."""
    parts = urlsplit(link)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise Refused(f"{link!r}: expected a link like http://host:8000/join/abcd-efgh-jkmn-pqrs")
    server = link.partition("/join")[0]
    body = json_module.dumps({"code": tokens.code_of(link), "name": name}).encode()
    joined = Remote(server).ask("/join", data=body, kind="application/json")
    remote = Remote(server, joined["token"])
    if show:
        out.print(remote.token)
        return
    path = remote.keep(os.environ)
    out.print(f"You are {joined['name']} ({joined['role']}) at {server}; the token is in {path}.")


@app.command(rich_help_panel=BOTS)
def submit(
    bot: Annotated[Path, typer.Argument(help="A file, a folder or a zip.")],
    name: Annotated[str | None, typer.Option(help="The bot's name (default: the file's).", show_default=False)] = None,
    note: Annotated[str, typer.Option(help="A note to yourself.")] = "",
    server: Annotated[
        str | None, typer.Option(help="The server's address (default: the one joined).", show_default=False)
    ] = None,
    wait: Annotated[bool, typer.Option(help="Wait for the verdict.")] = True,
    save: Save = None,
    json: Json = False,
) -> None:
    """Submit a bot and wait for its verdict: exit status 0 accepted, 1 not, 3 the check failed through the server."""
    remote = Remote.from_settings(os.environ, server)
    file_name, data = upload_of(read_bot(bot))
    chosen = name or (bot.resolve().name if bot.is_dir() else bot.stem).lower()
    query = {"bot": chosen, "file_name": file_name, "note": note}
    found = remote.ask("/submissions", query, data=data, kind="application/octet-stream")
    path = f"/submissions/{found['id']}"
    said = ""
    while wait and not found["final"]:
        line = f"{found['stage']}; {_place(found)}, about {found['wait_s']:.0f} s"
        if line != said:
            said = line
            notes.print(f"submission {found['id']}: {line}")
        time.sleep(POLL_S)
        found = remote.ask(path)
    if save is not None and found["probes"]:
        probe = remote.ask(f"{path}/probes/{len(found['probes'])}")
        save.write_text(json_module.dumps(probe) + "\n", encoding="utf-8", newline="\n")
    if json:
        print_json(found)
    else:
        _print_verdict(found, remote.server)
    raise typer.Exit(EXIT_CODES.get(found["state"], 0))


def _place(found: dict[str, Any]) -> str:
    if found["state"] == "checking":
        return "it is being checked"
    ahead = found["ahead"]
    return f"{ahead} submission{'s are' if ahead > 1 else ' is'} checked first" if ahead else "next in line"


def _print_verdict(found: dict[str, Any], server: str) -> None:
    verdict = found["verdict"]
    words = {"accepted": f"Accepted as version {found['version']}.", "rejected": f"Not accepted: {found['stage']}."}
    out.print(f"{found['bot']}: {words.get(found['state'], found['state'])}")
    for reason in verdict.get("reasons", ()):
        out.print(f"  {reason}")
    fault = verdict.get("fault")
    for title, text in (
        ("Traceback", fault["traceback"] if fault else ""),
        ("It printed last", verdict.get("log", "") if found["state"] != "accepted" else ""),
        ("What to do", verdict.get("advice", "")),
    ):
        if text:
            out.print(f"{title}:\n{text}".rstrip())
    used = [f"{name} {100 * used / limit:.1f} %" for name, (used, limit) in verdict.get("use", {}).items()]
    if used:
        out.print(f"Of its limits it used: {', '.join(used)}.")
    out.print(f"{server}{found['page']}")
