"""What agents share: boards, locks with fencing tokens, queues of work, and what changes there."""

from __future__ import annotations

from typing import Any

from accounts.principals import Principal
from fluxcore.errors import Invalid
from mcp_bridge.registry import Group, Run, Tool
from mcp_bridge.schemas import Schema, gives, many, moment, number, record, text, whole, yes_or_no
from mcp_bridge.tools import keys

_BOARD = {"board": text("Which board. Default main.")}
_TTL = number("How long it is yours, seconds. Default 30.", low=0)
_LOCK_TTL = number("How long it is yours, seconds, at most a day. Default 30.", low=0, high=86_400)
_IF_ALL: Schema = {"type": ["integer", "null"]}  # told to who may read all of a board
_TOKEN = whole("As taking it answered it.", low=1)
_LOCK = {"board": text(), "lock": text(), "token": whole(), "expires_at": {"type": ["string", "null"]}}
_TASK: dict[str, Schema] = {
    "board": text(),
    "queue": text(),
    "task": {"type": ["string", "null"]},
    "value": {},
    "token": whole(),
    "expires_at": moment(),
}


def _where(principal: Principal, given: dict[str, Any]) -> str:
    return f"boards/{given.get('board') or 'main'}"


def _calls(room: str, verb: str, *names: str) -> Run:
    """A verb of a room, with the arguments it takes."""

    def run(principal: Principal, given: dict[str, Any]) -> dict[str, Any]:
        from memory.keyvalue import boards, locks, queues

        if "value" in names and "value" not in given:
            raise Invalid("value is missing; null is a value.", field="value")
        act = getattr({"locks": locks, "queues": queues, "boards": boards}[room], verb)
        done: dict[str, Any] = act(principal, **keys.some(given, "board", *names), **keys.options(given))
        return done

    return run


def _looks(room: str, *names: str) -> Run:
    def run(principal: Principal, given: dict[str, Any]) -> dict[str, Any]:
        from memory.keyvalue import boards, locks, queues

        look = {"locks": locks.listed, "queues": queues.listed, "boards": boards.listed}[room]
        found: dict[str, Any] = look(principal, **keys.some(given, *names))
        return found

    return run


def _watch(principal: Principal, given: dict[str, Any]) -> dict[str, Any]:
    """What has changed by now: a tool does not keep its caller waiting."""
    from memory.keyvalue import watching

    what = watching.watch(_where(principal, given), given.get("pattern"))
    return watching.poll(lambda: principal, what, given.get("since"), 0.0)


_BOARDS = Tool(
    "board_boards",
    "Boards",
    "The boards on which you may read something.",
    _looks("boards"),
    needs=("bb.read",),
    reads=True,
    repeats=True,
    gives=gives(("boards",), boards=many({"type": "object"}), count=whole()),
)

GROUP = Group(
    "board",
    "boards, locks and queues shared with other agents",
    (
        _BOARDS,
        *keys.naming(
            _where,
            (
                *keys.tools("board", "a shared board", _where, "bb.read", "bb.write", _BOARD),
                Tool(
                    "board_watch",
                    "What changed on a board",
                    "Changes of keys, locks and queues since a position; without since it tells where to begin.",
                    _watch,
                    takes={
                        **_BOARD,
                        "pattern": text("Only keys that match."),
                        "since": text("position of the call before."),
                    },
                    needs=("bb.read",),
                    reads=True,
                    repeats=True,
                    gives=gives(
                        ("changes", "position"), changes=many({"type": "object"}), count=whole(), position=text()
                    ),
                ),
                Tool(
                    "board_make",
                    "Make a board",
                    "A new board; an ephemeral one is emptied when the instance starts.",
                    _calls("boards", "make", "ephemeral"),
                    takes={**_BOARD, "ephemeral": yes_or_no(), **keys.OPTIONS},
                    required=("board",),
                    needs=("bb.write",),
                    repeats=True,
                    gives=gives(
                        ("board", "made"),
                        board=text(),
                        made=yes_or_no(),
                        ephemeral=yes_or_no(),
                        keys=_IF_ALL,
                        bytes=_IF_ALL,
                        created_by=text(),
                        created_at=moment(),
                    ),
                ),
                Tool(
                    "board_remove",
                    "Delete a board",
                    "Delete a board you made, with its keys, their history, its locks and tasks.",
                    _calls("boards", "delete"),
                    takes={**_BOARD, **keys.OPTIONS},
                    required=("board",),
                    needs=("bb.write",),
                    destroys=True,
                    gives=gives(
                        ("board", "deleted"),
                        board=text(),
                        deleted=yes_or_no(),
                        keys=_IF_ALL,
                        bytes=_IF_ALL,
                        tasks=_IF_ALL,
                    ),
                ),
                Tool(
                    "board_lock",
                    "Take a lock",
                    "Hold a lock for a while, alone. "
                    "Its token grows with each holder: send it as fence with what you write.",
                    _calls("locks", "acquire", "lock", "ttl_secs", "note"),
                    takes={
                        "lock": text(longest=512),
                        "ttl_secs": _LOCK_TTL,
                        "note": text(longest=200),
                        **_BOARD,
                        **keys.OPTIONS,
                    },
                    required=("lock",),
                    needs=("bb.write",),
                    gives=gives(("lock", "token"), **_LOCK),
                ),
                Tool(
                    "board_renew",
                    "Keep a lock",
                    "Hold a lock longer, while it is still yours.",
                    _calls("locks", "renew", "lock", "token", "ttl_secs"),
                    takes={"lock": text(longest=512), "token": _TOKEN, "ttl_secs": _LOCK_TTL, **_BOARD, **keys.OPTIONS},
                    required=("lock", "token"),
                    needs=("bb.write",),
                    gives=gives(("lock", "token"), **_LOCK),
                ),
                Tool(
                    "board_unlock",
                    "Let a lock go",
                    "Let a lock go that is yours.",
                    _calls("locks", "release", "lock", "token"),
                    takes={"lock": text(longest=512), "token": _TOKEN, **_BOARD, **keys.OPTIONS},
                    required=("lock", "token"),
                    needs=("bb.write",),
                    gives=gives(("lock", "token"), **_LOCK),
                ),
                Tool(
                    "board_locks",
                    "Who holds what",
                    "The locks somebody holds, with holder and token.",
                    _looks("locks", "board", "pattern"),
                    takes={**_BOARD, "pattern": text()},
                    needs=("bb.read",),
                    reads=True,
                    repeats=True,
                    gives=gives(
                        ("locks", "count"),
                        count=whole(),
                        locks=many(
                            record(
                                ("lock", "holder", "token"),
                                lock=text(),
                                holder=text(),
                                token=whole(),
                                note=text(),
                                acquired_at=moment(),
                                expires_at=moment(),
                            )
                        ),
                    ),
                ),
                Tool(
                    "board_queues",
                    "Queues",
                    "The queues of a board, with what waits in them.",
                    _looks("queues", "board"),
                    takes=_BOARD,
                    needs=("bb.read",),
                    reads=True,
                    repeats=True,
                    gives=gives(
                        ("queues", "count"),
                        count=whole(),
                        queues=many(record(("queue",), queue=text(), waiting=whole(), claimed=whole())),
                    ),
                ),
                Tool(
                    "board_add_task",
                    "Add a task",
                    "Put a task at the end of a queue.",
                    _calls("queues", "add", "queue", "value"),
                    takes={"queue": text(longest=512), "value": {"description": "Any JSON."}, **_BOARD, **keys.OPTIONS},
                    required=("queue",),
                    needs=("bb.write",),
                    gives=gives(("queue", "task"), **_TASK),
                ),
                Tool(
                    "board_claim_task",
                    "Claim a task",
                    "Take the oldest task nobody has; task is null where none waits.",
                    _calls("queues", "claim", "queue", "ttl_secs"),
                    takes={"queue": text(longest=512), "ttl_secs": _TTL, **_BOARD, **keys.OPTIONS},
                    required=("queue",),
                    needs=("bb.read", "bb.write"),
                    gives=gives(("queue", "task"), **_TASK),
                ),
                *(
                    Tool(
                        f"board_{name}_task",
                        title,
                        says,
                        _calls("queues", verb, "queue", "task", "token", *more),
                        takes={
                            "queue": text(longest=512),
                            "task": text(),
                            "token": _TOKEN,
                            **({"ttl_secs": _TTL} if more else {}),
                            **_BOARD,
                            **keys.OPTIONS,
                        },
                        required=("queue", "task", "token"),
                        needs=("bb.write",),
                        gives=gives(("queue", "task"), **_TASK),
                    )
                    for name, title, says, verb, more in (
                        ("finish", "Finish a task", "A claimed task is done and gone.", "done", ()),
                        ("renew", "Keep a task", "Keep a claimed task for longer.", "renew", ("ttl_secs",)),
                        ("release", "Give a task back", "A claimed task waits for the next one.", "release", ()),
                    )
                ),
            ),
        ),
    ),
)
