"""wordllama: the mean of word-piece vectors, forty times cheaper than MiniLM. Its own code is never imported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from memory.embedding import model_files, tensors
from memory.embedding.encoder import Vectors, readable, unit
from memory.embedding.encoder_kinds import WORDLLAMA
from memory.embedding.native_calls import NATIVE

DIGESTS = {
    "weights/l2_supercat_256.safetensors": "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
    "tokenizers/l2_supercat_tokenizer_config.json": "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
}
_SPACE = "\u2581"  # what a space is to the tokenizer
_LONGEST, _ROOM = 64, 65_536  # characters of a word that is remembered, and how many are, about 15 MB


class WordLlama:
    """Reads the two files of the package: its loader looks for one of them in the wrong place, then downloads it."""

    name, dimension = WORDLLAMA.name, WORDLLAMA.dimension

    def __init__(self, package: Path) -> None:
        with NATIVE:
            from tokenizers import Tokenizer
        weights, pieces = (model_files.verify_file(package / name, digest) for name, digest in DIGESTS.items())
        self._vectors = tensors.read_tensors(weights)["embedding.weight"]
        with NATIVE:
            self._pieces = Tokenizer.from_file(str(pieces))
        self._pieces.no_padding()
        self._pieces.no_truncation()
        self._pieces.encode_special_tokens = True
        self._known: dict[str, list[int]] = {}

    def encode(self, texts: Sequence[str]) -> Vectors:
        rows = np.empty((len(texts), self.dimension), np.float32)
        for place, text in enumerate(texts):
            # The mean but for its length, which is made one anyway.
            np.add.reduce(self._vectors.take(self._cut(text), axis=0), axis=0, dtype=np.float32, out=rows[place])
        return unit(rows)

    def _cut(self, text: str) -> list[int]:
        """The word pieces of a text.

        No piece reaches across a single space: words are cut apart, and one that was seen is not cut again.
        """
        chunks = text.split(" ")
        if "" in chunks or _SPACE in text:  # spaces in a row are pieces of their own
            return self._whole(text)
        found: list[int] = []
        for chunk in chunks:
            known = self._known.get(chunk)
            if known is None:
                known = self._whole(chunk)
                if len(chunk) <= _LONGEST:
                    if len(self._known) >= _ROOM:
                        self._known.clear()
                    self._known[chunk] = known
            found += known
        return found

    def _whole(self, text: str) -> list[int]:
        pieces: list[int] = self._pieces.encode(readable(text), add_special_tokens=False).ids
        return pieces
