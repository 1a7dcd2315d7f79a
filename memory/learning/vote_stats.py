"""Statistics of the effect of votes on links, which health sums up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

HIGHWAY = 0.8  # weight from which on a link is a highway


@dataclass
class VoteStats:
    formed: int = 0  # links that became highways
    dropped: int = 0  # links that lost weight because what they led to was not useful
    drop: float = 0.0  # the shares of their weight they lost, added up

    def note(self, before: float, after: float, *, by_loss: bool) -> None:
        if before < HIGHWAY <= after:
            self.formed += 1
        if by_loss and after < before:
            self.dropped += 1
            self.drop += 1 - after / before

    def told(self) -> dict[str, Any]:
        """Values other than 0, for the event."""
        found = {"formed": self.formed, "dropped": self.dropped, "drop": round(self.drop, 4)}
        return {name: value for name, value in found.items() if value}
