"""The encoder of this process: chosen by config.yaml, loaded once, off the request path, rested when it fails."""

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

QUERIES_KEPT = 1024
LONGEST_KEPT_QUERY = 2000  # characters; longer ones are rare and would fill the memory
LONGEST_REST = 60.0  # seconds between attempts to load what keeps failing


@dataclass(frozen=True)
class EncoderState:
    """What an operator should know about the encoder."""

    name: str  # "none" without one
    dimension: int
    wanted: str
    ready: bool
    problem: str | None  # a sentence with the next step
    broken: bool  # the problem is a fault, not a package that this installation goes without

    @property
    def says(self) -> str:
        if self.name == encoder_kinds.NONE:
            return "off"
        return "broken" if self.broken else "ready" if self.ready else "not loaded"


class ProcessEncoder:
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
        self._loading, self._encoding = Breaker(LONGEST_REST), Breaker()
        self._problem: str | None = None
        self._cached = lru_cache(maxsize=QUERIES_KEPT)(self._query)

    @property
    def ready(self) -> bool:
        return self._encoder is not None

    def encoder(self) -> Encoder | None:
        """The encoder, loaded now if need be; None without one, and in the rest after a failure."""
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
            self._note(kind, str(error) or type(error).__name__)
        else:
            self._loading.succeeded()
            self._note(kind, None)

    def load_soon(self) -> None:
        """Load in the background, for those who come later."""
        if self.ready or self.wanted == encoder_kinds.NONE or self._loading.resting():
            return
        if self._thread is None or not self._thread.is_alive():
            # Two callers at once may both start one: the second finds the encoder loaded.
            self._thread = threading.Thread(target=self.encoder, name="encoder", daemon=True)
            self._thread.start()

    def encode(self, texts: Sequence[str]) -> Vectors | None:
        """Rows for these texts; None while there is no encoder or it is failing."""
        encoder = self.encoder()
        if encoder is None or not self._encoding.may_try():
            return None
        checked, problem = _checking()
        try:
            rows = checked(encoder, texts)
        except problem as error:
            self._encoding.failed()
            if self._problem is None:
                log.warning("%s Texts stay without vectors until it works again.", error)
            self._problem = str(error)
            return None
        self._encoding.succeeded()
        self._problem = None
        return rows

    def encode_query(self, text: str) -> Vectors | None:
        if not self.ready:
            self.load_soon()
            return None
        try:
            return self._cached(text) if len(text) <= LONGEST_KEPT_QUERY else self._query(text)
        except _EncoderFailing:
            return None

    def _query(self, text: str) -> Vectors:
        rows = self.encode([text])
        if rows is None:
            raise _EncoderFailing  # not a value: it must not be kept
        row: Vectors = rows[0]
        row.setflags(write=False)  # every caller gets the same array
        return row

    def state(self) -> EncoderState:
        kind, instead = encoder_kinds.available_kind(self.wanted, self._find)
        if kind is None:
            return EncoderState(encoder_kinds.NONE, 0, self.wanted, ready=False, problem=None, broken=False)
        fault = self._problem or (None if self.ready else self._noted(kind))
        return EncoderState(
            kind.name, kind.dimension, self.wanted, self.ready, fault or instead, broken=fault is not None
        )

    def _note(self, kind: EncoderKind, problem: str | None) -> None:
        """Kept as a file too: `flux_status` is another process and does not load the encoder to see whether it can."""

        if problem is not None and problem != self._problem:
            log.warning("The encoder %s cannot be loaded. %s", kind.name, problem)
        self._problem = problem
        try:
            if problem is None:
                self._note_of(kind).unlink(missing_ok=True)
            else:
                files.replace_file(self._note_of(kind), problem)
        except OSError:
            pass  # the folder may be the very problem; the log has it

    def _noted(self, kind: EncoderKind) -> str | None:
        try:
            return self._note_of(kind).read_text(encoding="utf-8") or None
        except (OSError, UnicodeDecodeError):
            return None

    def _note_of(self, kind: EncoderKind) -> Path:
        return self._models / f"{kind.name}.problem"


class _EncoderFailing(Exception):
    pass


@cache
def _checking() -> tuple[Callable[[Encoder, Sequence[str]], Vectors], type[Exception]]:
    """Imported with the first encoder, once: a statement that imports takes its time at every question."""
    from memory.embedding.encoder import EncoderProblem, encode_checked

    return encode_checked, EncoderProblem


def make_encoder(
    kind: EncoderKind, models: Path, find: Callable[[str], Path | None] = encoder_kinds.package_folder
) -> Encoder:
    """Load one encoder, whatever the process itself uses."""
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
_first = threading.Lock()


def process_encoder() -> ProcessEncoder:
    global _process
    here = _process
    if here is not None:
        return here
    with _first:
        if _process is None:
            from django.conf import settings

            _process = ProcessEncoder(settings.ENCODER, settings.HOME.models)
        return _process


def replace_encoder(instead: ProcessEncoder | None) -> ProcessEncoder | None:
    """Put another choice in the place of the process's own; None goes back to config.yaml. Returns the one before."""
    global _process
    with _first:
        before, _process = _process, instead
        return before


def load_encoder() -> Encoder | None:
    """The process's encoder, loaded if need be (seconds at the very first start); None: none configured, or broken."""
    return process_encoder().encoder()


def ready() -> bool:
    return process_encoder().ready


def load_soon() -> None:
    process_encoder().load_soon()


def encode(texts: Sequence[str]) -> Vectors | None:
    """Checked rows, with a rest after failures; loads if need be, so not for the request path."""
    return process_encoder().encode(texts)


def encode_query(text: str) -> Vectors | None:
    """The unit vector of a query, at once or not at all."""
    return process_encoder().encode_query(text)


def state() -> EncoderState:
    return process_encoder().state()
