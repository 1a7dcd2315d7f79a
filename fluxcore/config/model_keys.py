"""Keys of config.yaml about models: the local language model and the encoder."""

from __future__ import annotations

from dataclasses import dataclass

from fluxcore.config.key import key


@dataclass(frozen=True)
class ModelKeys:
    """Keys of the local language model with its budget, and of the encoder."""

    LLM_BASE_URL: str = key("http://localhost:11434", "address of the local model server")
    LLM_MODEL: str = key("llama3.1:8b", "model used to extract features")
    LLM_TIMEOUT_SECONDS: float = key(30.0, "longest wait for the model, seconds", low=0.1, high=600, hot=True)
    LLM_CALLS_PER_DAY: int = key(
        2_000, "calls of the model one space may make in a day (UTC)", low=0, high=10_000_000, hot=True
    )
    LLM_TOKENS_PER_DAY: int = key(
        4_000_000, "tokens one space may spend on the model in a day (UTC)", low=0, high=10**12, hot=True
    )
    LLM_AGENT_SHARE: float = key(
        0.5, "share of those calls and tokens for one agent, where a space has several", low=0.01, high=1, hot=True
    )
    LLM_QUERY_WORDS_ENABLED: bool = key(
        False, "let the model add words to a query, in the mode flux_extracts", hot=True
    )
    LLM_QUERY_MILLISECONDS: float = key(
        150.0, "longest wait of a query for the model's words, milliseconds", low=1, high=150, hot=True
    )
    EMBEDDING_MODEL_NAME: str = key(
        "all-MiniLM-L6-v2",
        "encoder of texts and queries; if its package is missing, the next one",
        allowed=("all-MiniLM-L6-v2", "wordllama", "hashed", "none"),
    )
