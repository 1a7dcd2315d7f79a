"""MiniLM encoder in eight bits on onnxruntime: recognises paraphrases, a few milliseconds per text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memory.embedding import minilm_graph, model_files, tensors
from memory.embedding.encoder import Vectors, readable, unit
from memory.embedding.encoder_kinds import MINILM
from memory.embedding.native_calls import NATIVE

# SHA-256 of the supported files. Other weights are another encoder and need another name.
DIGESTS = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
GRAPH = f"{MINILM.name}-{minilm_graph.RECIPE}"


class MiniLM:
    """all-MiniLM-L6-v2; its graph is built once into the models folder."""

    name, dimension = MINILM.name, MINILM.dimension

    def __init__(self, package: Path, models: Path) -> None:
        with NATIVE:
            from tokenizers import Tokenizer

            onnxruntime = quiet_runtime()
        weights = package / "model"
        tokenizer = model_files.verify_file(weights / "tokenizer.json", DIGESTS["tokenizer.json"])
        with NATIVE:
            self._pieces = Tokenizer.from_file(str(tokenizer))
        self._pieces.no_padding()
        self._pieces.enable_truncation(max_length=minilm_graph.PIECES)
        self._pieces.encode_special_tokens = True  # "[SEP]" in a text is plain text, not a special token
        path = model_files.build_once(models, GRAPH, lambda: _build_graph_file(weights / "model.safetensors"))
        options = onnxruntime.SessionOptions()
        # One thread: a second one gains little for so small a model and slows down other recalls.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.enable_cpu_mem_arena = False
        with NATIVE:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, one text at a time: a batch gains nothing on one thread and makes vectors depend on it."""
        vectors: dict[str, Vectors] = {}
        for text in texts:
            if text not in vectors:
                ids = np.array([self._pieces.encode(readable(text)).ids], dtype=np.int64)
                vectors[text] = self._session.run(None, {"ids": ids})[0][0]
        return unit(np.stack([vectors[text] for text in texts]))


def quiet_runtime() -> Any:
    """Import onnxruntime with its telemetry disabled.

    By default it writes an identifier and a queue of events below ~/.cache on import, and sends them to its vendor;
    disabling it after the import is too late for the first event.
    """
    os.environ.update(ORT_DISABLE_TELEMETRY="1")
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # telemetry of the Windows builds
    return onnxruntime


def _build_graph_file(path: Path) -> bytes:
    with NATIVE:
        import onnx  # noqa: F401  loaded here, since building takes too long for the end of a process to wait
    return minilm_graph.build_graph(tensors.read_tensors(model_files.verify_file(path, DIGESTS["model.safetensors"])))
