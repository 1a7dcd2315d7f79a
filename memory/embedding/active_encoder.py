"""Active encoder of this process: chosen by config.yaml, loaded once in the background, paused after failures."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from fluxcore import files
from memory.embedding import encoder_kinds
from memory.embedding.breaker import Breaker
from memory.embedding.encoder_kinds import EncoderKind

if TYPE_CHECKING:  # numpy is loaded with the encoder: commands that encode nothing start without it
    from memory.embedding.encoder import Encoder, Vectors

log = logging.getLogger(__name__)

QUERIES_KEPT = 1024  # cached vectors of queries
LONGEST_KEPT_QUERY = 2000  # characters; longer ones are rare and would fill memory
LONGEST_PAUSE = 60.0  # seconds between attempts to load an encoder that keeps failing


@dataclass(frozen=True)
class EncoderState:
    """State of the encoder, for operators."""

    name: str  # "none" without an encoder
    dimension: int
    wanted: str
    ready: bool
    problem: str | None  # a sentence with the next step
    broken: bool  # the problem is an error, not a missing optional package

    @property
    def says(self) -> str:
        if self.name == encoder_kinds.NONE:
            return "off"
        return "broken" if self.broken else "ready" if self.ready else "not loaded"


class ProcessEncoder:
    """Loads the wanted encoder, encodes with it, and pauses after failures."""

    def __init__(
        self,
        wanted: str,
        models: Path,
        find: Callable[[str], Path | None] = encoder_kinds.package_folder,
    ) -> None:
        self.wanted = wanted
        self._models = models
        self._find = find
        self._lock = threading.Lock()
        self._encoder: Encoder | None = None
        self._thread: threading.Thread | None = None
        self._loading, self._encoding = Breaker(LONGEST_PAUSE), Breaker()
        self._problem: str | None = None
        self._encode_one_cached = lru_cache(maxsize=QUERIES_KEPT)(self._encode_one)

    @property
    def ready(self) -> bool:
        return self._encoder is not None

    def encoder(self) -> Encoder | None:
        """The encoder, loaded now if necessary; None without one, and during the pause after a failure."""
        if self._encoder is None:
            kind, _ = encoder_kinds.available_kind(self.wanted, self._find)
            with self._lock:
                if self._encoder is None and kind is not None and self._loading.may_try():
                    self._load(kind)
        return self._encoder

    def _load(self, kind: EncoderKind) -> None:
        try:
            self._encoder = make_encoder(kind, self._models, self._find)
        except Exception as error:  # a broken package can raise anything while it is imported
            self._loading.failed()
            self._set_problem(kind, str(error) or type(error).__name__)
        else:
            self._loading.succeeded()
            self._set_problem(kind, None)

    def load_soon(self) -> None:
        """Start loading in the background, for later calls."""
        if self.ready or self.wanted == encoder_kinds.NONE or self._loading.paused():
            return
        if self._thread is None or not self._thread.is_alive():
            # Two callers at once may both start a thread: the second thread finds the encoder loaded.
            self._thread = threading.Thread(target=self.encoder, name="encoder", daemon=True)
            self._thread.start()

    def encode(self, texts: Sequence[str]) -> Vectors | None:
        """Vectors of these texts, one row each; None while there is no encoder or it fails."""
        encoder = self.encoder()
        if encoder is None or not self._encoding.may_try():
            return None
        encode_checked, problem_type = _import_checked()
        try:
            rows = encode_checked(encoder, texts)
        except problem_type as error:
            self._encoding.failed()
            if self._problem is None:
                log.warning("%s Texts stay without vectors until it works again.", error)
            self._problem = str(error)
            return None
        self._encoding.succeeded()
        self._problem = None
        return rows

    def encode_query(self, text: str) -> Vectors | None:
        """Vector of a query, cached; None while the encoder is not loaded (loading starts then) or fails."""
        if not self.ready:
            self.load_soon()
            return None
        try:
            return self._encode_one_cached(text) if len(text) <= LONGEST_KEPT_QUERY else self._encode_one(text)
        except _EncoderFailing:
            return None

    def _encode_one(self, text: str) -> Vectors:
        rows = self.encode([text])
        if rows is None:
            raise _EncoderFailing  # an exception, because a returned None would be cached
        row: Vectors = rows[0]
        row.setflags(write=False)  # every caller gets the same array
        return row

    def state(self) -> EncoderState:
        """State of the encoder without loading it."""
        kind, instead = encoder_kinds.available_kind(self.wanted, self._find)
        if kind is None:
            return EncoderState(encoder_kinds.NONE, 0, self.wanted, ready=False, problem=None, broken=False)
        fault = self._problem or (None if self.ready else self._read_problem(kind))
        return EncoderState(
            kind.name, kind.dimension, self.wanted, self.ready, fault or instead, broken=fault is not None
        )

    def _set_problem(self, kind: EncoderKind, problem: str | None) -> None:
        """Remember a problem, also in a file: `flux_status` is another process and does not load the encoder."""

        if problem is not None and problem != self._problem:
            log.warning("The encoder %s cannot be loaded. %s", kind.name, problem)
        self._problem = problem
        try:
            if problem is None:
                self._problem_file(kind).unlink(missing_ok=True)
            else:
                files.replace_file(self._problem_file(kind), problem)
        except OSError:
            pass  # the folder itself may be the problem; it was logged

    def _read_problem(self, kind: EncoderKind) -> str | None:
        try:
            return self._problem_file(kind).read_text(encoding="utf-8") or None
        except (OSError, UnicodeDecodeError):
            return None

    def _problem_file(self, kind: EncoderKind) -> Path:
        return self._models / f"{kind.name}.problem"


class _EncoderFailing(Exception):
    """The encoder gave no vector for a query."""


@cache
def _import_checked() -> tuple[Callable[[Encoder, Sequence[str]], Vectors], type[Exception]]:
    """`encode_checked` and `EncoderProblem`, imported on first use; an import statement would cost time per call."""
    from memory.embedding.encoder import EncoderProblem, encode_checked

    return encode_checked, EncoderProblem


def make_encoder(
    kind: EncoderKind, models: Path, find: Callable[[str], Path | None] = encoder_kinds.package_folder
) -> Encoder:
    """Load an encoder of this kind, independent of the active one."""
    from memory.embedding.encoder import EncoderProblem

    if kind == encoder_kinds.HASHED:
        from memory.embedding.hashed import HashedEncoder

        return HashedEncoder()
    weights = find(kind.weights)
    if weights is None:
        raise EncoderProblem(f"{kind.weights} is not installed. To change that: {kind.install}")
    if kind == encoder_kinds.MINILM:
        from memory.embedding.minilm import MiniLM

        return MiniLM(weights, models)
    from memory.embedding.wordllama import WordLlama

    return WordLlama(weights)


_process: ProcessEncoder | None = None
_process_lock = threading.Lock()


def process_encoder() -> ProcessEncoder:
    """The encoder of this process, created from the settings on first use."""
    global _process
    encoder = _process
    if encoder is not None:
        return encoder
    with _process_lock:
        if _process is None:
            from django.conf import settings

            _process = ProcessEncoder(settings.ENCODER, settings.HOME.models)
        return _process


def replace_encoder(instead: ProcessEncoder | None) -> ProcessEncoder | None:
    """Replace the encoder of the process; None returns to that of config.yaml. Returns the previous one."""
    global _process
    with _process_lock:
        previous, _process = _process, instead
        return previous


def load_encoder() -> Encoder | None:
    """The active encoder, loaded if necessary (seconds at the first start); None if there is none or it is broken."""
    return process_encoder().encoder()


def ready() -> bool:
    """Whether the active encoder is loaded."""
    return process_encoder().ready


def load_soon() -> None:
    """Start loading the active encoder in the background."""
    process_encoder().load_soon()


def encode(texts: Sequence[str]) -> Vectors | None:
    """Checked vectors of texts; loads the encoder if necessary, so it must not be called in a request."""
    return process_encoder().encode(texts)


def encode_query(text: str) -> Vectors | None:
    """Unit vector of a query, or None; never waits for loading."""
    return process_encoder().encode_query(text)


def state() -> EncoderState:
    """State of the active encoder."""
    return process_encoder().state()
