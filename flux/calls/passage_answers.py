"""Answer types of calls on what recall has of files, messages and keys, without pydantic."""

from typing import Annotated, NotRequired, TypedDict

from flux.calls.answers import Identifier


class PassageFacts(TypedDict):
    id: Annotated[Identifier, "Id of the grain, as recall answers it."]
    content: str
    provenance: str
    version: NotRequired[Annotated[int, "Newest version of the file or key that has it."]]
    first_line: NotRequired[int]
    last_line: NotRequired[int]
    heading: NotRequired[str]
    current: Annotated[bool, "false: only earlier versions have it."]
    recalls: Annotated[int, "Recalls that returned it, as long as their traces are kept."]
    useful: Annotated[int, "Votes that are in force."]
    not_useful: int


class PassagePage(TypedDict):
    passages: list[PassageFacts]
    count: int
    next_cursor: str | None
