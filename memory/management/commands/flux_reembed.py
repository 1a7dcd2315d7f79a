"""flux_reembed: compute vectors of all grains with another encoder while the instance is running."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from accounts.models import Space
from accounts.principals import find_space, shell
from fluxcore.command_names import typed_command
from fluxcore.errors import Conflict, Invalid
from fluxsite.run import running_state
from memory.management.base import FluxCommand


class Command(FluxCommand):
    help = (
        "Compute the vectors of all memories again, with the configured encoder or, before a change, with another one."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--encoder", help="encoder to use instead of EMBEDDING_MODEL_NAME, to prepare a change")
        parser.add_argument("--space", help="only this space (default: all)")
        parser.add_argument("--keep", action="store_true", help="keep the vectors of other encoders")
        parser.add_argument("--reason", default="", help="reason, recorded in the audit log")

    def run(self, options: dict[str, Any]) -> None:
        self.refuse_bad_configuration()
        encoder = _encoder(options["encoder"])
        spaces = [find_space(options["space"])] if options["space"] else list(Space.objects.order_by("name"))
        waits = _not_in_use(encoder.name)
        drop = not options["keep"] and not waits
        found = {
            space.name: self._space(space, encoder, drop=drop, reason=options["reason"])
            | {"questions": 0 if waits else _questions(space, encoder, options["reason"])}
            for space in spaces
        }
        answer = {"encoder": encoder.name, "spaces": found, "in_use": not waits}
        if self.as_json:
            self.answer(answer)
            return
        columns = ("encoded", "refused", "dropped", "questions")
        rows = [(name, *(done[column] for column in columns)) for name, done in found.items()]
        heads = ("space", "encoded", "without a vector", "old vectors deleted", "questions with feedback")
        self.table(heads, rows, empty="No spaces yet.")
        if waits:
            self.console.print(
                f"{waits} Then run {typed_command('flux_reembed')} again: it encodes the rest and deletes the "
                "old vectors."
            )

    def _space(self, space: Space, encoder: Any, *, drop: bool, reason: str) -> dict[str, int]:
        from memory.grains import reembed

        operator = shell(space)
        total, done, after, dropped = reembed.count_left(space.pk, encoder.name), 0, 0, 0
        with self.progress(f"{space.name}: {encoder.name}", total) as advance:
            while True:
                page = reembed.reembed(operator, encoder=encoder, after=after, reason=reason)
                if not page["seen"]:
                    break
                done, after = done + page["encoded"], page["last"]
                if not done:
                    raise Conflict(
                        f"{encoder.name} could not encode anything in {space.name}. No old vectors were deleted there."
                    )
                advance(page["seen"])
        refused = reembed.count_left(space.pk, encoder.name)
        while drop and (gone := reembed.drop_others(operator, encoder=encoder.name, reason=reason)["dropped"]):
            dropped += gone
        return {"encoded": done, "refused": refused, "dropped": dropped}


def _questions(space: Space, encoder: Any, reason: str) -> int:
    """Encode judged questions too: they are compared with new questions, which needs vectors of the same encoder."""
    from memory.grains import reembed

    done, after = 0, 0
    while True:
        page = reembed.reembed_questions(shell(space), encoder=encoder, after=after, reason=reason)
        if not page["seen"]:
            return done
        done, after = done + page["encoded"], page["last"]


def _encoder(wanted: str | None) -> Any:
    """The active encoder, or exactly the requested one: vectors of its fallback would be useless."""
    from memory.embedding import active_encoder, encoder_kinds
    from memory.embedding.encoder import EncoderProblem

    used, _ = encoder_kinds.available_kind(active_encoder.process_encoder().wanted)
    names = {kind.wanted: kind for kind in encoder_kinds.KINDS}
    kind = used if wanted is None else names.get(wanted)
    if kind is None:
        known = ", ".join(names)
        says = (
            f"There is no encoder {wanted!r}." if wanted else "No encoder is configured (EMBEDDING_MODEL_NAME is none)."
        )
        raise Invalid(f"{says} Allowed: {known}.", field="encoder")
    try:
        return active_encoder.make_encoder(kind, settings.HOME.models)
    except EncoderProblem as error:
        raise Invalid(str(error), field="encoder") from None


def _not_in_use(name: str) -> str:
    """Reason why vectors of other encoders must be kept; "" if they can be deleted."""
    from memory.embedding import active_encoder

    if active_encoder.state().name != name:
        return f"Set EMBEDDING_MODEL_NAME and restart: the instance still uses {active_encoder.state().name}."
    state = running_state.read_state(settings.HOME)
    bound = (state or {}).get("bound", {})
    if bound.get("EMBEDDING_MODEL_NAME", settings.FLUX.EMBEDDING_MODEL_NAME) != settings.FLUX.EMBEDDING_MODEL_NAME:
        return f"Restart the instance: it still uses {bound['EMBEDDING_MODEL_NAME']}."
    return ""
