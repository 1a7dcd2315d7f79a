"""wordllama encoder: the mean of word-piece vectors, forty times cheaper than MiniLM. Uses only the package's files."""

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
_SPACE = "\u2581"  # how the tokenizer writes a space
_LONGEST, _ROOM = 64, 65_536  # characters of a cached word, and number of cached words, about 15 MB


class WordLlama:
    """Reads two files of the package; the package's own loader would not find one of them and download it."""

    name, dimension = WORDLLAMA.name, WORDLLAMA.dimension

    def __init__(self, package: Path) -> None:
        with NATIVE:
            from tokenizers import Tokenizer
        weights, pieces = (model_files.verify_file(package / name, digest) for name, digest in DIGESTS.items())
        self._vectors = tensors.read_tensors(weights)["embedding.weight"]
        with NATIVE:
            self._tokenizer = Tokenizer.from_file(str(pieces))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True
        self._cache: dict[str, list[int]] = {}

    def encode(self, texts: Sequence[str]) -> Vectors:
        rows = np.empty((len(texts), self.dimension), np.float32)
        for place, text in enumerate(texts):
            # The sum has the direction of the mean, and the length is normalised anyway.
            np.add.reduce(
                self._vectors.take(self._word_pieces(text), axis=0), axis=0, dtype=np.float32, out=rows[place]
            )
        return unit(rows)

    def _word_pieces(self, text: str) -> list[int]:
        """Ids of the word pieces of a text.

        No piece crosses a single space, so the text is tokenised word by word, with a cache.
        """
        chunks = text.split(" ")
        if "" in chunks or _SPACE in text:  # consecutive spaces are pieces themselves
            return self._tokenise(text)
        ids: list[int] = []
        for chunk in chunks:
            cached = self._cache.get(chunk)
            if cached is None:
                cached = self._tokenise(chunk)
                if len(chunk) <= _LONGEST:
                    if len(self._cache) >= _ROOM:
                        self._cache.clear()
                    self._cache[chunk] = cached
            ids += cached
        return ids

    def _tokenise(self, text: str) -> list[int]:
        pieces: list[int] = self._tokenizer.encode(readable(text), add_special_tokens=False).ids
        return pieces
