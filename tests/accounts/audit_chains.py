"""Test helper: audit chains, and manipulations by somebody who can write to the database."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime

from django.db import connection, transaction

from accounts import audit
from accounts.audit import checkpoints
from accounts.audit.checkpoints import log_file
from accounts.capabilities import parsed
from accounts.models import AuditEntry
from accounts.principals import Principal
from fluxcore.writes import booth

CHAIN, OTHER = "c" * 32, "d" * 32
FIELDS = ["chain", "seq", "at", "actor", "action", "object", "outcome", "reason", "details", "prev"]


def who(chain=CHAIN):
    return Principal(kind="agent", name="a", space=1, chain=chain, capabilities=parsed(()), ceiling="ai_stated")


def write(count, chain=CHAIN, start=0):
    def work():
        for number in range(start, start + count):
            audit.record(who(chain), "test.act", f"object {number}", reason="ü", details={"n": number, "a": None})

    booth.write(work)


def hash_of(entry):
    """As a stranger computes it: SHA-256 over canonical JSON of the fields in their order."""
    fields = [entry[name] for name in FIELDS]
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def change(sql, *values):
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql.format(table=AuditEntry._meta.db_table), values)


def edit(column, value, position, chain=CHAIN):
    change(f"UPDATE {{table}} SET {column} = %s WHERE chain = %s AND seq = %s", value, chain, position)


def remove(first, last=None, chain=CHAIN):
    change("DELETE FROM {table} WHERE chain = %s AND seq BETWEEN %s AND %s", chain, first, last or first)


def renumber(old, new, chain=CHAIN):
    edit("seq", new, old, chain)


def swap(one, other):
    for old, new in ((one, 1_000_000), (other, one), (1_000_000, other)):
        renumber(old, new)


def insert(position, copy_of, chain=CHAIN):
    """A copy of an entry at a position; those from there on make room."""
    last = max(AuditEntry.objects.filter(chain=chain).values_list("seq", flat=True))
    for old in range(last, position - 1, -1):
        renumber(old, old + 1, chain)
    source = copy_of + 1 if copy_of >= position else copy_of
    columns = "chain, at, actor, action, object, outcome, reason, details, prev, hash"
    change(
        f"INSERT INTO {{table}} (seq, {columns}) SELECT %s, {columns} FROM {{table}} WHERE chain = %s AND seq = %s",
        position,
        chain,
        source,
    )


def rewrite(first, *, chain=CHAIN, **fields):
    """Other fields from an entry on, with every hash computed anew: a chain that is sound in itself."""
    entries = list(audit.export(chain))
    prev = entries[first - 2]["hash"] if first > 1 else audit.GENESIS
    for entry in entries[first - 1 :]:
        entry.update(fields, prev=prev)
        prev = entry["hash"] = hash_of(entry)
        moment = datetime.fromisoformat(entry["at"])
        AuditEntry.objects.filter(chain=chain, seq=entry["seq"]).update(**{**entry, "at": moment})


def log_of(path):
    found = log_file.read_log(path)
    assert not found.problem
    return found.lines


def kinds(path):
    return [line.kind for line in log_of(path)]


def problems():
    return [place.problem for place in checkpoints.verify_chains().places]
