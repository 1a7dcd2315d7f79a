"""flux_status: servers, queue, database, encoder, versions, quotas and warnings of an instance."""

from __future__ import annotations

import http.client
from typing import Any

from django.conf import settings
from rich.text import Text

from accounts.audit import checkpoints
from accounts.models import Agent, Space
from fluxcore import config
from fluxcore.command_names import typed_command
from fluxsite import env, setup
from fluxsite.run import running_state
from memory.api import loopback
from memory.engine.kinds import MADE_KINDS
from memory.grains.models import Grain
from memory.health import instance_health, usage
from memory.management.base import FluxCommand

_MOST = 20  # rows of the usage table
_NAME = 24  # characters of a name in it
_SERVERS = {"people": "dashboard", "rest": "REST", "mcp": "MCP"}


class Command(FluxCommand):
    help = "Show the status of an instance: servers, database, queue, usage and warnings."
    needs_tables = False

    def run(self, options: dict[str, Any]) -> None:
        state = running_state.read_state(settings.HOME)
        pending = setup.pending_migrations()
        servers = {name: {"url": url, "answers": _answers(url)} for name, url in (state or {}).get("urls", {}).items()}
        found: dict[str, Any] = {
            "name": settings.HOME.name,
            "home": str(settings.HOME.path),
            "running": state is not None,
            "pid": state["pid"] if state else None,
            "servers": servers,
            "doors": servers,  # the key's name in release 0.6 and earlier, for one more release
        }
        if pending:
            found["warnings"] = [
                f"the database needs {len(pending)} migration(s): {typed_command('flux_start')} applies them"
            ]
        else:
            # The running instance may have other settings than this shell.
            found |= instance_health.instance_details(durability=(state or {}).get("durability"))
            found["counts"] = {
                "spaces": Space.objects.count(),
                "agents": Agent.objects.count(),
                "grains": Grain.objects.exclude(status__in=MADE_KINDS).count(),
            }
            found["usage"] = {"rows": usage.usage_table(), "limits": usage.quota_limits()}
            found["warnings"] += loopback.loopback_warnings() + checkpoints.checkpoint_warnings()
            if state is not None:
                found["warnings"] += _changed_since(state)
            if not setup.has_administrator():
                found["warnings"].append(
                    f"there is no administrator yet: {typed_command('flux_start')} prints an enrolment link"
                )
        found["warnings"] += env.unread()
        found["warnings"] += [
            f"other users of this machine can read the key {path}: chmod 600 {path}"
            for path in settings.HOME.exposed_keys()
        ]
        if self.as_json:
            self.answer(found)
        else:
            self._print(found)

    def _print(self, found: dict[str, Any]) -> None:
        mark = "[bold green]running[/]" if found["running"] else "[yellow]stopped[/]"
        self.console.print(f"[bold]{found['name']}[/] {mark}  {found['home']}")
        rows: list[tuple[str, Any]] = [
            (
                f"{_SERVERS.get(name, name)} server",
                Text.assemble(
                    f"{server['url']}  ", ("answers", "green") if server["answers"] else ("does not answer", "red")
                ),
            )
            for name, server in found["servers"].items()
        ]
        if "database" in found:
            queue, counts, versions, database = (found[key] for key in ("queue", "counts", "versions", "database"))
            rows += [
                ("database", f"{database['kind']} {database['version']}, durability {found['durability']}"),
                ("queue", f"{queue['broker']}: {_listed(queue['jobs'])}"),
                ("memory", _listed(counts)),
                ("encoder", _encoder(found["encoder"])),
                ("mode", found["mode"]),
                ("model", _model(found["model"])),
                ("versions", f"flux {found['version']}, python {versions['python']}, django {versions['django']}"),
            ]
        self.table(("", ""), rows, empty="")
        if "usage" in found:
            self._print_usage(found["usage"], with_model=found["model"]["state"] != "off")
        for warning in found["warnings"]:
            self.console.print(Text(f"! {warning}", "yellow"))

    def _print_usage(self, found: dict[str, Any], *, with_model: bool) -> None:
        """Print the use of quotas by agents, and the quotas."""
        shown = found["rows"][:_MOST]
        self.console.print()
        self.table(
            ("space, agent", "memories", "size", "keys", "boards", *(("model calls",) if with_model else ())),
            [
                (
                    f"  {_short(one['agent'])}" if one["agent"] else Text(_short(one["space"]), "bold"),
                    f"{one['grains']:,}",
                    usage.format_bytes(one["grain_bytes"]),
                    usage.format_bytes(one["key_bytes"]),
                    one["boards"],
                    *((one["model_calls"],) if with_model else ()),
                )
                for one in shown
            ],
            empty="No agents yet.",
        )
        if len(found["rows"]) > len(shown):
            self.console.print(Text(f"{len(found['rows']) - len(shown)} more with --json.", "dim"))
        agent, space = found["limits"]["agent"], found["limits"]["space"]
        says = [
            f"Limits of an agent: {agent['MAX_GRAINS_PER_AGENT']:,} memories, "
            f"{usage.format_bytes(agent['MAX_BYTES_PER_AGENT'])}, keys {usage.format_bytes(agent['MAX_KV_BYTES'])}, "
            f"{agent['MAX_BOARDS_PER_AGENT']} boards",
            f"Limits of a space: {space['MAX_GRAINS_PER_SPACE']:,} memories, "
            f"{usage.format_bytes(space['MAX_BYTES_PER_SPACE'])}, {space['MAX_BOARDS_PER_SPACE']} boards",
        ]
        if with_model:
            says.append(f"An agent may spend {agent['LLM_AGENT_SHARE']:.0%} of its space's budget for the model.")
        for line in says:
            self.console.print(Text(line, "dim"))


def _short(name: str) -> str:
    """Name shortened so that the row fits into 80 columns."""
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"


def _changed_since(state: dict[str, Any]) -> list[str]:
    bound, now = state.get("bound", {}), config.bound(settings.FLUX)
    changed = [name for name in now if name in bound and bound[name] != now[name]]
    return [f"restart to apply {', '.join(changed)}"] if changed and not settings.CONFIG_PROBLEM else []


def _encoder(found: dict[str, Any]) -> str:
    """Name of the encoder and its problem, if any; whether it is loaded differs by process and is not shown."""
    waiting = f"{found['pending']} memories are queued for it" if found["pending"] else ""
    parts = [found["name"], "broken" if found["state"] == "broken" else "", found["problem"] or "", waiting]
    return ": ".join(part for part in parts if part)


def _model(found: dict[str, Any]) -> str:
    """Name and state of the model, waiting texts, and use of today."""
    if found["state"] == "off":
        return "off"
    today, budget = found["today"], found["budget"]
    return (
        f"{found['name']} {found['state']}, {found['waiting']} texts queued; today {today['calls']} calls and "
        f"{today['tokens']} tokens, of {budget['calls']} and {budget['tokens']} for each space"
    )


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in counts.items())


def _answers(url: str) -> bool:
    host, _, port = url.removeprefix("http://").rpartition(":")
    line = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=2)
    try:
        line.request("GET", "/health")
        return line.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        line.close()
