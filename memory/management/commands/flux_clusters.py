"""flux_clusters: list the clusters of a space, show one, compute them now."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from accounts.principals import find_space, shell
from fluxcore.command_names import typed_command
from fluxcore.errors import Invalid
from fluxsite.setup import FIRST_SPACE
from memory.management.base import FluxCommand

_LONGEST = 80


class Command(FluxCommand):
    help = "Clusters of a space: list them, show one with its members, compute them now."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", nargs="?", default="list", choices=["list", "show", "run"])
        parser.add_argument("cluster", nargs="?", help="show: id of the cluster")
        parser.add_argument("--space", default=FIRST_SPACE, help=f"space (default {FIRST_SPACE})")
        parser.add_argument(
            "--layer",
            choices=["grains", "entries"],
            help="list: only clusters of grains (memories) or of entries (entities) (default: both)",
        )
        parser.add_argument("--reason", default="", help="run: reason, recorded in the audit log")
        parser.add_argument("--limit", type=int, default=50, help="list, show: maximum number of rows")

    def run(self, options: dict[str, Any]) -> None:
        getattr(self, f"_{options['action']}")(shell(find_space(options["space"])), options)

    def _list(self, operator: Any, options: dict[str, Any]) -> None:
        from memory.clusters import select

        found = select.page(operator, layer=options["layer"], limit=options["limit"])
        if self.as_json:
            self.answer(found)
            return
        self.table(
            ("cluster", "layer", "size", "name"),
            [(one["id"], one["layer"], one["size"], one["name"]) for one in found["clusters"]],
            empty="No clusters yet. They are computed when a space has enough memories, or now with: "
            f"{typed_command('flux_clusters run')}.",
        )
        if found["next_cursor"]:
            self.console.print("There are more: use --limit.")
        if found["computed_at"]:
            held = ", ".join(f"{layer} {value:.3f}" for layer, value in found["modularity"].items())
            self.console.print(f"[dim]Computed {found['computed_at'][:16]}, modularity: {held}[/]")

    def _show(self, operator: Any, options: dict[str, Any]) -> None:
        from memory.clusters import select

        found = select.load_cluster(operator, _identified(options["cluster"]), limit=options["limit"])
        if self.as_json:
            self.answer(found)
            return
        gone = ", dissolved" if found["dissolved_at"] else ""
        self.console.print(
            f"{found['name'] or 'Unnamed cluster'}: {found['size']} {found['layer']}{gone}", markup=False
        )
        self.table(
            ("weight", "member"),
            [(f"{one['weight']:.2f}", _short(one)) for one in found["members"]],
            empty="It has no members any more.",
        )
        if found["next_cursor"]:
            self.console.print("There are more: use --limit.")

    def _run(self, operator: Any, options: dict[str, Any]) -> None:
        from memory.clusters import verbs

        found = verbs.recompute(operator, reason=options["reason"])
        if self.as_json:
            self.answer(found)
            return
        columns = ("clusters", "made", "changed", "dissolved", "modularity")
        rows = [(layer, *(found[layer][name] for name in columns)) for layer in ("grains", "entries")]
        self.table(("layer", *columns), rows, empty="")


def _identified(text: str | None) -> Any:
    import uuid

    try:
        return uuid.UUID(text or "")
    except ValueError:
        raise Invalid(
            f"The id of the cluster is missing: {typed_command('flux_clusters show ID --space NAME')}.", field="cluster"
        ) from None


def _short(member: dict[str, Any]) -> str:
    if member["entry"] is not None:
        return f"{member['entry']['kind']} {member['entry']['feature']}"
    text = " ".join(member["grain"]["content"].split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
