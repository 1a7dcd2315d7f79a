"""Sessions of the OpenAI Agents SDK: every operation on `SQLiteSession` and on a transcript, and runs of an agent."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, SQLiteSession, Usage, function_tool
from agents.memory import Session, SessionSettings
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from flux.adapters.openai_agents import OpenAISession
from flux.client import AsyncFluxClient
from tests.adapters.comparison import Comparison, outcome

HELLO = {"role": "user", "content": "Hello, I am Ann. Größe ✓"}
ITEMS = [
    HELLO,
    {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Oslo"}', "id": "fc_1"},
    {"type": "function_call_output", "call_id": "c1", "output": "rain"},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": None},
    {
        "type": "message",
        "role": "assistant",
        "id": "msg_1",
        "status": "completed",
        "content": [{"type": "output_text", "text": "It rains.", "annotations": []}],
    },
    {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"}]},
]
# More than one page, and fewer than an agent may write in a minute.
MANY = [{"role": "user", "content": f"item {number}"} for number in range(1200)]
STEPS: list[tuple[str, str, tuple[Any, ...]]] = [
    ("get of a new session", "get_items", ()),
    ("get 3 of a new session", "get_items", (3,)),
    ("pop of a new session", "pop_item", ()),
    ("clear of a new session", "clear_session", ()),
    ("add nothing", "add_items", ([],)),
    ("add one", "add_items", ([HELLO],)),
    ("add the same again", "add_items", ([HELLO],)),
    ("add items of all kinds", "add_items", (ITEMS,)),
    ("get all", "get_items", ()),
    ("get 1", "get_items", (1,)),
    ("get 3", "get_items", (3,)),
    ("get as many as there are", "get_items", (8,)),
    ("get more than there are", "get_items", (99,)),
    ("get 0", "get_items", (0,)),
    ("get -1", "get_items", (-1,)),
    ("pop", "pop_item", ()),
    ("pop again", "pop_item", ()),
    ("get what is left", "get_items", ()),
    ("add after a pop", "add_items", ([HELLO],)),
    ("get 2 after a pop", "get_items", (2,)),
    ("add 1,200", "add_items", (MANY,)),
    ("get all 1,207", "get_items", ()),
    ("get 1,100", "get_items", (1100,)),
    ("pop the last", "pop_item", ()),
    ("get 2", "get_items", (2,)),
    ("clear", "clear_session", ()),
    ("get after clear", "get_items", ()),
    ("pop after clear", "pop_item", ()),
    ("clear again", "clear_session", ()),
    ("add after clear", "add_items", (ITEMS,)),
    ("get after all", "get_items", ()),
]


class ScriptedModel(Model):
    """Answers with what it was asked; calls the tool once in a turn that asks for the weather."""

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        last = input[-1]
        if last.get("role") == "user" and "weather" in last["content"]:
            output: Any = ResponseFunctionToolCall(
                type="function_call", call_id="c1", name="weather", arguments='{"city": "Oslo"}', id="fc_1"
            )
        else:
            text = ResponseOutputText(type="output_text", text=f"{len(input)} items before this", annotations=[])
            output = ResponseOutputMessage(
                type="message", role="assistant", id="msg_1", status="completed", content=[text]
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    async def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError
        yield


@function_tool
def weather(city: str) -> str:
    """Weather of a city."""
    return f"rain in {city}"


async def _run(session: Any) -> list[Any]:
    agent = Agent(name="tester", model=ScriptedModel(), tools=[weather])
    asked = ("Hello", "What is the weather?", "Thanks")
    return [(await Runner.run(agent, said, session=session)).final_output for said in asked]


def _shown(value: Any) -> Any:
    if isinstance(value, list):
        return f"{len(value)}: " + ", ".join(str(one.get("content") or one.get("type")) for one in value[-3:])
    return value


async def main() -> None:
    async with AsyncFluxClient() as client:
        table = Comparison("OpenAI Agents SDK's session", "SQLiteSession")
        own, ours = SQLiteSession("one"), OpenAISession("one", client)
        for title, method, given in STEPS:
            found = [await outcome(getattr(session, method), *given) for session in (own, ours)]
            table.row(title, *found, _shown)
        table.holds("it is a Session", isinstance(ours, Session))
        table.holds("another session is empty", await OpenAISession("two", client).get_items(), [])

        limited = SessionSettings(limit=2)
        own, ours = SQLiteSession("s", session_settings=limited), OpenAISession(str(uuid.uuid4()), client, limited)
        for session in (own, ours):
            await session.add_items(ITEMS)
        table.row("the limit of the settings", await own.get_items(), await ours.get_items(), _shown)
        table.row("a limit above it", await own.get_items(3), await ours.get_items(3), _shown)

        own, ours = SQLiteSession("run"), OpenAISession("run of an agent", client)
        table.row("three turns of an agent", await _run(own), await _run(ours), str)
        table.row("items of these turns", await own.get_items(), await ours.get_items(), _shown)
        other = OpenAISession("run of an agent", client)
        table.row("a fourth turn, opened again", (await _run(own))[0], (await _run(other))[0])

        once = OpenAISession("idempotent", client)
        for _ in range(3):
            await once.add_items(ITEMS, idempotency_key="turn 1")
        table.holds("three adds with one key", len(await once.get_items()), len(ITEMS))
        again = OpenAISession("idempotent, too", client)
        await again.add_items(ITEMS[:2], idempotency_key="turn 1")
        table.holds("the same key in another session", len(await again.get_items()), 2)
        pair = [OpenAISession("shared", client) for _ in range(2)]
        await asyncio.gather(*(one.add_items([item]) for one in pair for item in MANY[:20]))
        said = sorted(item["content"] for item in await pair[0].get_items())
        table.holds("40 adds of two writers, kept", said, sorted(item["content"] for item in MANY[:20] * 2))
        table.end()


if __name__ == "__main__":
    asyncio.run(main())
