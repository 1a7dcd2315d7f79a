"""Answers of the toy room. No more than types, so that a type checker reads the client's methods without a server."""

from typing import Annotated, Any, TypedDict


class Note(TypedDict):
    name: str
    text: str
    weight: float
    tags: list[str]
    counts: dict[str, int]
    version: Annotated[int, "Counts the changes of this note."]


class Notes(TypedDict):
    notes: list[Note]


class Page(TypedDict):
    path: str
    lines: int


class Messages(TypedDict):
    messages: list[dict[str, Any]]


class NoteGone(TypedDict):
    removed: bool


class Greeting(TypedDict):
    hello: str


class Length(TypedDict):
    key: str
    bytes: int
