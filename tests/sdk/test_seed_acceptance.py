"""Seed 001 point by point: the test that holds each, and tests of those that no other file has.

The points are those that flyte's own tests check, the weak points of its store with what its users ask for, and its
features one by one. A file and a test are named together; a test here checks that they exist.
"""

from __future__ import annotations

import ast
import asyncio
import dataclasses
from pathlib import Path

import pytest

from flux.client import FluxClient
from flux.memory import MemoryMeta, MemoryStore
from tests.sdk.memory_messages import ALL, said, user

pytestmark = pytest.mark.storage
ROOT = Path(__file__).resolve().parent.parent
SDK, LOCAL, HERE = "sdk/test_memory_store.py", "sdk/test_local_store.py", "sdk/test_seed_acceptance.py"
KEYED, TRANSCRIPT, RUNS = "sdk/test_keyed_store.py", "sdk/test_keyed_transcript.py", "sdk/test_resolve_memory.py"
LOCAL_KILLS, NAMES, COPIES = "sdk/test_local_kills.py", "sdk/test_local_names.py", "sdk/test_local_copies.py"
FILES, STORES, TALK = "artifacts/test_files.py", "artifacts/test_stores.py", "artifacts/test_transcripts.py"
CROWDS, CHAIN, BAD = "artifacts/test_crowds.py", "artifacts/test_chain.py", "artifacts/test_bad_input.py"
TREES, KILLS, RACES = "artifacts/test_trees.py", "torture/test_files.py", "artifacts/test_races.py"
TREE_NAMES, LOG, PROPOSALS = "artifacts/test_tree_names.py", "artifacts/test_store_log.py", "review/test_proposals.py"
PROGRAM, POLICY = "seed_programs/test_memory_store.py", "artifacts/test_policy.py"

# What flyte's own tests check.
ACCEPTANCE = {
    "1 a temporary root, no messages; create takes a key": [
        (SDK, "test_temporary_folders_go_with_their_store"),
        (KEYED, "test_create_open_and_exists"),
    ],
    "2 an explicit root loads its messages; flush; corrupt transcript; given messages win": [
        (LOCAL, "test_opened_again"),
        (LOCAL, "test_a_broken_transcript_counts_as_empty"),
        (SDK, "test_every_method_without_blocking"),
    ],
    "3 an agent's run uses the store and never saves it": [
        (RUNS, "test_resolve_memory_never_breaks_a_run"),
        (HERE, "test_a_run_appends_and_saves_only_when_it_says_so"),
    ],
    "4 round trip as a reference": [(KEYED, "test_references"), (HERE, "test_a_reference_sees_files_at_once")],
    "5 joining of addresses": [(KEYED, "test_addresses_as_flyte_computes_them")],
    "6 storage roots": [(KEYED, "test_addresses_as_flyte_computes_them")],
    "7 keys that are refused": [(KEYED, "test_create_open_and_exists"), (HERE, "test_keys_of_any_script")],
    "8 layout of addresses; a second create": [(KEYED, "test_create_open_and_exists")],
    "9 repeated saves to one place": [(COPIES, "test_copies"), (COPIES, "test_copies_to_an_address")],
    "10 get_or_create with compare-and-swap; two versions": [(KEYED, "test_versions_on_a_server")],
    "11 calls without asyncio": [(SDK, "test_texts_json_and_bytes"), (PROGRAM, "test_the_documented_flow")],
    "12 texts and JSON; facts; defaults": [(SDK, "test_texts_json_and_bytes")],
    "13 lists": [(SDK, "test_lists_are_sorted_and_of_folders"), (LOCAL, "test_symbolic_links_are_refused")],
    "14 traversal, absolute and empty paths": [(SDK, "test_paths"), (BAD, "test_no_address_leads_out_of_a_store")],
    "15 symbolic links that leave the root": [(LOCAL, "test_symbolic_links_are_refused")],
    "16 reserved names": [(SDK, "test_reserved_names"), (FILES, "test_names_a_store_keeps_for_itself_are_refused")],
    "17 read-only prefixes": [(SDK, "test_read_only_prefixes")],
    "18 compare-and-swap": [(SDK, "test_compare_and_swap"), (LOCAL, "test_digests_are_those_of_the_bytes")],
    "19 the log": [(SDK, "test_the_log"), (SDK, "test_no_log")],
    "20 versions": [(LOCAL, "test_versions"), (KEYED, "test_versions_on_a_server")],
    "21 facts; a/b and a__b": [(SDK, "test_texts_json_and_bytes"), (LOCAL, "test_versions")],
    "22 the helper of adapters": [(RUNS, "test_resolve_memory_never_breaks_a_run")],
}

# What is weak in flyte's store, in the order of its description, and what shows that it is not so here.
WEAKNESSES = {
    "1 lost updates": [
        (SDK, "test_two_openers_with_one_expected_sha"),
        (SDK, "test_writers_of_a_transcript_interleave"),
        (CROWDS, "test_renames_against_writes_and_messages"),
    ],
    "2 a deleted file comes back with a save": [
        (COPIES, "test_copies"),
        (COPIES, "test_a_copy_in_a_bucket"),
        (HERE, "test_a_save_brings_nothing_back"),
    ],
    "3 compare-and-swap only within one copy": [(CROWDS, "test_of_16_writers_with_one_expectation_one_wins")],
    "4 the policy is the opener's": [
        (KEYED, "test_a_later_opener_only_tightens"),
        (POLICY, "test_the_policy_is_of_the_creator_and_opening_does_not_change_it"),
        (POLICY, "test_nobody_else_changes_the_policy"),
    ],
    "5 digests of an earlier content": [(LOCAL, "test_digests_are_those_of_the_bytes")],
    "6 lists show what is internal": [
        (SDK, "test_lists_are_sorted_and_of_folders"),
        (NAMES, "test_only_temporary_names_are_hidden_and_refused"),
    ],
    "7 a file `audit` breaks the store": [
        (SDK, "test_reserved_names"),
        (NAMES, "test_bookkeeping_that_is_in_the_way"),
        (TREES, "test_one_bad_file_and_nothing_is_imported"),
    ],
    "8 a link evades read-only prefixes": [(LOCAL, "test_symbolic_links_are_refused")],
    "9 writes in several steps": [
        (LOCAL_KILLS, "test_killed_at_every_step_of_a_write"),
        (LOCAL_KILLS, "test_killed_at_every_step_of_a_save"),
        (LOCAL_KILLS, "test_kills_of_a_writer_in_a_loop"),
        (LOCAL_KILLS, "test_a_full_disk"),
        (LOCAL, "test_nothing_half_written"),
        (NAMES, "test_long_names"),
        (KILLS, "test_kills_in_the_middle_of_200_puts"),
        (HERE, "test_paths_of_1024_bytes_in_any_script"),
        (TREE_NAMES, "test_a_folder_whose_writer_was_killed"),
    ],
    "10 line ends are translated": [
        (SDK, "test_texts_json_and_bytes"),
        (FILES, "test_bytes_come_back_as_they_were_sent"),
    ],
    "11 the whole tree goes down and up": [(HERE, "test_a_turn_sends_what_changed_and_no_more")],
    "12 the transcript is not audited": [(CHAIN, "test_every_write_and_every_refusal")],
    "13 the transcript has no limit": [
        (TALK, "test_too_large_messages_are_refused_whole"),
        (STORES, "test_limits_of_a_store"),
        (TRANSCRIPT, "test_more_messages_than_a_minute_has_room_for"),
    ],
    "14 the transcript cannot be searched": [(TALK, "test_search_looks_into_parts_and_tool_calls")],
    "15 no delete": [(FILES, "test_a_deleted_file_is_gone_and_comes_back_with_its_versions")],
    "16 no rename": [(FILES, "test_rename_and_copy_keep_bytes_and_refuse_to_overwrite")],
    "17 no append": [(FILES, "test_append_adds_and_loses_nothing")],
    "18 no copy": [(FILES, "test_rename_and_copy_keep_bytes_and_refuse_to_overwrite")],
    "19 no move": [(FILES, "test_folders_are_moved_and_deleted_whole")],
    "20 no reading or restoring of versions": [
        (FILES, "test_versions_are_listed_read_compared_and_restored"),
        (KEYED, "test_versions_are_read_by_the_names_in_the_log"),
        (LOCAL, "test_versions"),
    ],
    "21 no comparison of versions": [(FILES, "test_versions_of_json_are_compared_value_by_value")],
    "22 no search": [("artifacts/test_search.py", "test_lines_are_found_whatever_their_case")],
    "23 no limit on sizes": [
        ("rest/test_streaming.py", "test_a_length_above_the_cap_is_refused_before_anything_is_sent")
    ],
    "24 no bytes": [
        (SDK, "test_texts_json_and_bytes"),
        (FILES, "test_bytes_come_back_as_they_were_sent"),
    ],
    "25 nothing ends by itself": [
        (STORES, "test_ephemeral_stores_are_deleted_when_the_instance_starts"),
        (STORES, "test_retention_forgets_old_versions_and_never_the_current_one"),
    ],
    "26 no quota": [(STORES, "test_limits_of_a_space"), (CROWDS, "test_limits_are_exact")],
    "27 no list of stores": [
        (STORES, "test_a_store_is_created_once_and_opened_often"),
        (STORES, "test_lists_of_many_stores"),
    ],
    "28 no deletion of stores": [(STORES, "test_deleted_stores_come_back_whole_or_end")],
    "29 the log has successes only": [
        (FILES, "test_refusals_stand_in_the_log_of_the_store"),
        (CHAIN, "test_every_write_and_every_refusal"),
    ],
    "30 any writer can edit the log": [(FILES, "test_names_a_store_keeps_for_itself_are_refused")],
    "31 whoever reaches the bucket may do everything": [
        ("artifacts/test_rights.py", "test_scopes_of_capabilities_name_store_and_path"),
        (STORES, "test_stores_of_another_space_do_not_exist"),
        (TALK, "test_transcripts_take_capabilities_of_their_own"),
        (KEYED, "test_a_token_that_only_writes"),
    ],
    "32 asked for: provenance": [(FILES, "test_provenance_is_never_above_the_writer")],
    "33 asked for: retention, export, deletion": [
        (STORES, "test_retention_forgets_old_versions_and_never_the_current_one"),
        (TREES, "test_a_store_as_a_folder"),
        (STORES, "test_deleted_stores_come_back_whole_or_end"),
    ],
    "34 asked for: staged writes that somebody accepts, edits or denies": [
        (PROPOSALS, "test_a_sandboxed_agent_proposes_and_a_person_accepts"),
        (PROPOSALS, "test_an_edit_is_accepted_with_the_lowest_provenance"),
    ],
    "35 asked for: explicit saving and a handle that is data": [
        (HERE, "test_a_run_appends_and_saves_only_when_it_says_so"),
        (KEYED, "test_references"),
    ],
    "36 asked for: pop and clear": [
        (TALK, "test_removed_messages_come_back_at_their_places"),
        (SDK, "test_edits_of_a_transcript"),
    ],
}

# Features of flyte's store that the lists above leave out.
FEATURES = {
    "F1 identity; names are validated": [(STORES, "test_names_that_are_no_names_are_refused")],
    "F2 keys": [(HERE, "test_keys_of_any_script")],
    "F8 a destination of a save": [
        (COPIES, "test_a_folder_as_the_result_of_a_save"),
        (COPIES, "test_destinations_that_fail"),
        (COPIES, "test_sidecars_of_others_in_a_destination"),
    ],
    "F9 working root": [(SDK, "test_temporary_folders_go_with_their_store")],
    "F10 messages are not validated": [
        (NAMES, "test_numbers_that_json_does_not_have"),
        (NAMES, "test_the_order_of_fields_is_kept"),
        (TRANSCRIPT, "test_the_order_of_fields_is_kept_on_the_way"),
    ],
    "F11 path rules": [(SDK, "test_paths"), (BAD, "test_no_field_leads_out_of_a_store")],
    "F13 versions are read by their reserved names": [
        (KEYED, "test_versions_are_read_by_the_names_in_the_log"),
        (LOCAL, "test_versions"),
    ],
    "F14 a prefix protects its look-alikes": [
        (SDK, "test_read_only_prefixes"),
        (FILES, "test_read_only_prefixes_protect_by_segment_and_in_any_case"),
    ],
    "F15, F16 reading": [(SDK, "test_texts_json_and_bytes")],
    "F17, F18 writing": [(SDK, "test_texts_json_and_bytes"), (RACES, "test_a_file_that_is_replaced_while_it_is_read")],
    "F17 the same bytes make a version": [
        (FILES, "test_a_write_of_the_same_bytes_makes_no_version_and_costs_no_bytes")
    ],
    "F21 facts are frozen": [(HERE, "test_facts_are_frozen")],
    "F22, F23, F24 layout": [(LOCAL, "test_the_layout_is_flytes"), (TREES, "test_a_store_as_a_folder")],
    "F21 facts that are broken": [(NAMES, "test_a_broken_sidecar_is_replaced_by_the_next_write")],
    "F25 audit_tail": [
        (SDK, "test_the_log"),
        (SDK, "test_no_log"),
        (LOCAL, "test_nothing_half_written"),
        (KEYED, "test_the_whole_log"),
        (LOG, "test_the_log_is_read_to_its_end"),
    ],
    "F27 with and without asyncio": [(SDK, "test_every_method_without_blocking")],
    "F28 references": [(KEYED, "test_references")],
    "F30 a memory never breaks a run": [
        (RUNS, "test_resolve_memory_never_breaks_a_run"),
        (RUNS, "test_a_server_that_never_answers_is_asked_once"),
    ],
    "the tree in flyte itself": [
        (TREES, "test_flyte_opens_an_export_and_we_what_it_wrote"),
        (TREES, "test_out_and_back"),
    ],
}


def test_the_named_tests_exist():
    assert [int(point.partition(" ")[0]) for point in ACCEPTANCE] == list(range(1, 23))
    assert [int(point.partition(" ")[0]) for point in WEAKNESSES] == list(range(1, 37))
    there: dict[str, set[str]] = {}
    for point, named in {**ACCEPTANCE, **WEAKNESSES, **FEATURES}.items():
        assert named, point
        for file, name in named:
            if file not in there:
                tree = ast.parse((ROOT / file).read_text())
                there[file] = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
            assert name in there[file], f"{point}: {file} has no {name}"


class Counting(FluxClient):
    """A client that writes down its requests and the bytes of bodies and answers."""

    def __init__(self, *given, **more):
        super().__init__(*given, **more)
        self.sent = []

    def send(self, request):
        answer = super().send(request)
        self.sent.append((request.method, len(request.body or b"") + len(str(answer))))
        return answer


@pytest.fixture
def client(live_server, make_token, monkeypatch):
    monkeypatch.setenv("FLUX_URL", live_server.url)
    monkeypatch.setenv("FLUX_TOKEN", make_token(capabilities=ALL))
    with Counting() as one:
        yield one


def test_a_turn_sends_what_changed_and_no_more(client):
    """Neither files nor messages that were there before go over the line again, however many there are."""
    store = MemoryStore.create(key="k", client=client)
    for number in range(20):
        store.write_bytes(f"old/{number}", bytes(20_000))
    store.extend(user("x" * 1_000) for _ in range(50))
    store.save()
    client.sent.clear()
    store.write_text("new.txt", "changed", expected_sha="")
    store.append(user("one more"))
    store.save()
    assert [method for method, _ in client.sent] == ["PUT", "POST"]
    assert sum(size for _, size in client.sent) < 3_000
    client.sent.clear()
    again = MemoryStore.get_or_create(key="k", client=client)
    assert again.read_text("new.txt") == "changed" and len(again.messages) == 51
    assert sum(size for _, size in client.sent) < 100_000, "the transcript, and one file of 21"


def test_a_reference_sees_files_at_once(client):
    store = MemoryStore.create(key="k", client=client)
    store.write_text("a/b.txt", "1")
    again = MemoryStore.from_reference(store.reference(), client=client)
    assert again.exists("a") and again.exists("a/b.txt") and not again.exists("c")
    assert MemoryStore.from_reference(store.reference(), client=client).list_paths() == ["a/b.txt"]


def test_a_save_brings_nothing_back(client):
    one, other = MemoryStore.create(key="k", client=client), MemoryStore.get_or_create(key="k", client=client)
    one.write_text("a.txt", "1")
    assert other.read_text("a.txt") == "1"
    client.delete_file("k", "a.txt")
    other.save()
    assert one.list_paths() == other.list_paths() == [] and other.current_sha("a.txt") == ""


def test_a_run_appends_and_saves_only_when_it_says_so(client):
    """An agent's loop works on the list `messages`; what it added reaches the server with a flush."""
    store = MemoryStore.create(key="run", client=client)
    store.extend([user("hello"), {"role": "assistant", "content": "hi"}])
    assert MemoryStore.get_or_create(key="run", client=client).messages == []
    asyncio.run(store.flush_messages())
    later = MemoryStore.get_or_create(key="run", client=client)
    assert [message["role"] for message in later.messages] == ["user", "assistant"]
    assert said(later) == ["hello", "hi"]


def test_keys_of_any_script(client):
    for number, key in enumerate(("a b", "x:y", "50%", "%41", "ключ", "鍵", "a.b", "-", "~", "ä" * 127)):
        store = MemoryStore.create(key=key, client=client)
        store.write_text("a.txt", key)
        assert MemoryStore.get_or_create(key=key, client=client).read_text("a.txt") == key
        assert asyncio.run(MemoryStore.exists(key=key, client=client)) is True
        assert store.remote_path == f"agents/memory-store/v0/home/default/default/{key}"
        assert len(client.list_stores()["stores"]) == number + 1


def test_paths_of_1024_bytes_in_any_script(client):
    """flyte's sidecar would need a name of three times that, and fails after it has written the content."""
    store = MemoryStore.create(key="k", client=client, keep_versions=True)
    paths = ["x" * 1024, "ж" * 512, "猫" * 341 + "x", "a/" * 511 + "bc", "\U0001f431" * 256]
    for path in paths:
        assert len(path.encode()) == 1024
        first = store.write_text(path, "1")
        store.write_text(path, "2", expected_sha=first.sha256)
        assert store.read_text(path) == "2" and store.get_meta(path).path == path
    assert store.list_paths() == sorted(paths)
    assert len(store.audit_tail_sync(0)) == 2 * len(paths)


def test_facts_are_frozen():
    meta = MemoryMeta("a", "0" * 64, "2026-01-01T00:00:00+00:00", "agent", "", 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        meta.path = "b"
