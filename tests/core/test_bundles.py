"""Bundles: round trips, changes that are detected, hostile bundles that are refused."""

from __future__ import annotations

import hashlib
import io
import json
import random
import shutil
import subprocess
import tarfile
import tracemalloc

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from fluxcore import bundle_format, bundles
from fluxcore.bundle_format import BundleLimits
from fluxcore.errors import Invalid

MEMBERS = {"a.txt": b"first", "folder/b.bin": bytes(range(256)) * 40, "empty": b"", "folder/c": b"x" * 512}


def written(tmp_path, members=MEMBERS, **fields):
    target = io.BytesIO()
    with bundles.BundleWriter(target, staging=tmp_path) as writer:
        for name, content in members.items():
            writer.add(name, [content[:3], content[3:]], kind="test")
        writer.finish({"bundle_format": "test-v1", **fields})
    return target.getvalue()


def contents(raw, limits=bundle_format.FOREIGN):
    reader = bundles.BundleReader(io.BytesIO(raw), limits)
    found = {member.artifact.name: b"".join(member) for member in reader}
    assert reader.report.sound
    return found


def refused(raw, limits=bundle_format.FOREIGN):
    """What is said about a bundle that is not sound."""
    try:
        _, report = bundles.verify(io.BytesIO(raw), limits)
    except Invalid as refusal:
        return refusal.message
    assert not report.sound
    return report.problem()


def forged(entries, manifest=None, *, end=bundle_format.END, tail=b""):
    """A container with these tar bytes and a true digest at its end, as somebody who knows the format would make it."""
    tar = b"".join(entries)
    if manifest is not None:
        raw = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
        tar = entry("manifest.json", raw) + tar
    packed = zstandard.ZstdCompressor().compress(tar + end) + tail
    return packed + bundle_format.trailer(hashlib.sha256(packed).digest())


def entry(name, content=b"", size=None):
    size = len(content) if size is None else size
    return bundle_format.header(name, size) + content + bundle_format.padding(size)


def manifest(members):
    artifacts = [bundle_format.Artifact(name, len(text), hashlib.sha256(text).hexdigest()) for name, text in members]
    return {
        "manifest_version": 1,
        "artifacts": [artifact.shape() for artifact in artifacts],
        "bundle_sha256": bundle_format.seal(artifacts),
    }


def test_a_written_bundle_is_read_back(tmp_path):
    raw = written(tmp_path, label="mine")
    assert contents(raw) == MEMBERS
    found, report = bundles.verify(io.BytesIO(raw))
    assert (found["bundle_format"], found["label"], report.problem()) == ("test-v1", "mine", "")
    assert [one["path_in_bundle"] for one in found["artifacts"]] == list(MEMBERS)
    assert found["artifacts"][0] == {
        "path_in_bundle": "a.txt",
        "size_bytes": 5,
        "sha256": hashlib.sha256(b"first").hexdigest(),
        "kind": "test",
    }
    assert not list(tmp_path.iterdir())


def test_equal_members_give_equal_bytes(tmp_path):
    assert written(tmp_path) == written(tmp_path)


@given(st.lists(st.binary(max_size=3000), max_size=8))
def test_members_may_have_any_bytes(tmp_path_factory, drawn):
    members = {f"m/{number}": content for number, content in enumerate(drawn)}
    assert contents(written(tmp_path_factory.getbasetemp(), members)) == members


def test_a_reader_may_skip_members_or_parts_of_them(tmp_path):
    reader = bundles.BundleReader(io.BytesIO(written(tmp_path)))
    for member in reader:
        if member.artifact.name == "folder/b.bin":
            next(iter(member))
    assert reader.report.sound


def test_tar_can_open_a_bundle(tmp_path):
    if shutil.which("tar") is None or shutil.which("zstd") is None:
        unpacked = (
            zstandard.ZstdDecompressor().stream_reader(io.BytesIO(written(tmp_path)), read_across_frames=True).read()
        )
        with tarfile.open(fileobj=io.BytesIO(unpacked)) as tar:
            assert tar.getnames() == ["manifest.json", *MEMBERS]
        return
    (tmp_path / "x.tar.zst").write_bytes(written(tmp_path))
    subprocess.run(["tar", "--zstd", "-xf", "x.tar.zst"], cwd=tmp_path, check=True)
    assert (tmp_path / "folder/b.bin").read_bytes() == MEMBERS["folder/b.bin"]


@pytest.mark.parametrize(
    "name",
    ["", "/a", "a/", "../a", "a/../b", ".a", "a/.b", "a//b", "a\\b", "é", "a" * 101, "manifest.json", "a\n", "a b"],
)
def test_a_name_that_is_not_plain_is_not_written(tmp_path, name):
    with bundles.BundleWriter(io.BytesIO(), staging=tmp_path) as writer, pytest.raises(Invalid):
        writer.add(name, [b"x"])


def test_a_name_twice_is_not_written(tmp_path):
    with bundles.BundleWriter(io.BytesIO(), staging=tmp_path) as writer:
        writer.add("a", [b"x"])
        with pytest.raises(Invalid):
            writer.add("A", [b"y"])


def test_every_flipped_bit_is_detected(tmp_path):
    raw, draw = written(tmp_path), random.Random(7)
    positions = [*range(len(raw))] if len(raw) < 2000 else [draw.randrange(len(raw)) for _ in range(1000)]
    for position in positions:
        damaged = bytearray(raw)
        damaged[position] ^= 1 << draw.randrange(8)
        assert refused(bytes(damaged)), position


def test_every_missing_or_added_byte_at_the_end_is_detected(tmp_path):
    raw = written(tmp_path)
    for length in range(0, len(raw), 7):
        assert refused(raw[:length]), length
    for tail in (b"\0", b"x" * 10, raw, b"\x50\x2a\x4d\x18\x00\x00\x00\x00", bytes(1024)):
        assert refused(raw + tail)


def test_a_manifest_without_its_seal_is_refused(tmp_path):
    """One member and its digest were changed, and everything but the seal was made to fit."""
    forged_manifest = manifest([("a", b"old")])
    forged_manifest["artifacts"][0]["sha256"] = hashlib.sha256(b"new").hexdigest()
    assert "seal" in refused(forged([entry("a", b"new")], forged_manifest))


def test_members_that_are_missing_extra_or_damaged_are_named():
    named = manifest([("a", b"one"), ("b", b"two"), ("c", b"three")])
    raw = forged([entry("x", b"foreign"), entry("a", b"one"), entry("b", b"TWO"), entry("a", b"one")], named)
    _, report = bundles.verify(io.BytesIO(raw))
    assert (report.damaged, report.missing, report.extra) == (["b"], ["c"], ["x", "a"])
    assert report.whole and not report.sound
    other_size = forged([entry("a", b"one more"), entry("b", b"two"), entry("c", b"three")], named)
    assert refused(other_size) == "a is damaged."


def test_a_reader_of_a_damaged_member_gets_an_error_in_the_place_of_its_end():
    raw = forged([entry("a", b"TWO")], manifest([("a", b"two")]))
    (member,) = bundles.BundleReader(io.BytesIO(raw))
    with pytest.raises(Invalid, match="a is damaged"):
        list(member)


def tar_entry(kind, name="a", link="", size=0, form=tarfile.GNU_FORMAT):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, size
    return info.tobuf(form)


def other_header(change):
    block = bytearray(bundle_format.header("a", 3))
    change(block)
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + b"one" + bytes(509)


NAMED = manifest([("a", b"one")])
HOSTILE = {
    "a symbolic link": [tar_entry(tarfile.SYMTYPE, link="/etc/passwd")],
    "a hard link": [tar_entry(tarfile.LNKTYPE, link="../../x")],
    "a device": [tar_entry(tarfile.CHRTYPE)],
    "a block device": [tar_entry(tarfile.BLKTYPE)],
    "a pipe": [tar_entry(tarfile.FIFOTYPE)],
    "a folder": [tar_entry(tarfile.DIRTYPE)],
    "a sparse file": [tar_entry(tarfile.GNUTYPE_SPARSE)],
    "another name by PAX": [tar_entry(tarfile.XHDTYPE, size=20), b"20 path=../../evil\n\n".ljust(512, b"\0")],
    "a long name": [tar_entry(tarfile.REGTYPE, name="x" * 300)],
    "a name of 5,000 bytes": [tar_entry(tarfile.REGTYPE, name="x" * 5000)],
    "an absolute name": [tar_entry(tarfile.REGTYPE, name="/etc/passwd")],
    "a name that climbs": [tar_entry(tarfile.REGTYPE, name="../../evil")],
    "a name that climbs inside": [tar_entry(tarfile.REGTYPE, name="a/../../evil")],
    "a backslash": [tar_entry(tarfile.REGTYPE, name="..\\evil")],
    "a drive": [tar_entry(tarfile.REGTYPE, name="C:evil")],
    "a hidden name": [tar_entry(tarfile.REGTYPE, name=".ssh")],
    "a trailing space": [tar_entry(tarfile.REGTYPE, name="a ")],
    "beyond ASCII": [tar_entry(tarfile.REGTYPE, name="é")],
    "a prefix": [other_header(lambda block: block.__setitem__(slice(345, 349), b"/etc"))],
    "a mode for everybody": [other_header(lambda block: block.__setitem__(slice(100, 107), b"0004777"))],
    "a negative size": [other_header(lambda block: block.__setitem__(slice(124, 136), b"\xff" * 12))],
    "a huge size": [other_header(lambda block: block.__setitem__(slice(124, 136), b"\x80" + b"\x7f" * 11))],
    "a checksum that is wrong": [bundle_format.header("a", 3)[:148] + b"0000000\0" + bytes(356)],
    "no tar": [b"x" * 512],
    "bytes in the padding": [bundle_format.header("a", 3) + b"one" + b"x" * 509],
    "1,001 members more": [entry("a", b"one"), *(entry(f"x/{number}") for number in range(1001))],
    "a large member more": [entry("x", bytes(17 * 1024 * 1024))],
    "nothing": [],
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_container_is_refused(what):
    assert refused(forged(HOSTILE[what], NAMED))


MANIFESTS = {
    "not JSON": b"{",
    "not UTF-8": b"\xff\xfe",
    "empty": b"",
    "deep": b"[" * 100_000,
    "a list": [],
    "another version": {**NAMED, "manifest_version": 2},
    "no members": {"manifest_version": 1, "bundle_sha256": bundle_format.seal([])},
    "members a dict": {**NAMED, "artifacts": {}},
    "a member a text": {**NAMED, "artifacts": ["a"]},
    "a name that climbs": manifest([("../evil", b"one")]),
    "an absolute name": manifest([("/tmp/evil", b"one")]),
    "itself": manifest([("manifest.json", b"one")]),
    "a name twice": manifest([("a", b"one"), ("a", b"one")]),
    "a name in two cases": manifest([("a", b"one"), ("A", b"one")]),
    "a size below zero": {**NAMED, "artifacts": [{**NAMED["artifacts"][0], "size_bytes": -1}]},
    "a size that is true": {**NAMED, "artifacts": [{**NAMED["artifacts"][0], "size_bytes": True}]},
    "a size beyond the most": {**NAMED, "artifacts": [{**NAMED["artifacts"][0], "size_bytes": 2**41}]},
    "no digest": {**NAMED, "artifacts": [{**NAMED["artifacts"][0], "sha256": "x"}]},
    "a key twice": b'{"manifest_version": 1, "manifest_version": 1}',
    "beyond the most": b" " * (17 * 1024 * 1024),
    "too many members": {**NAMED, "artifacts": [NAMED["artifacts"][0]] * 100_001},
}


@pytest.mark.parametrize("what", MANIFESTS)
def test_a_hostile_manifest_is_refused(what):
    assert refused(forged([entry("a", b"one")], MANIFESTS[what]))


def test_a_bundle_without_a_manifest_at_its_beginning_is_refused():
    raw = json.dumps(NAMED).encode()
    assert "begin" in refused(forged([entry("a", b"one"), entry("manifest.json", raw)]))


@pytest.mark.parametrize("end", [b"", bytes(512), bytes(1536), bytes(1024) + b"x"])
def test_an_invalid_end_is_refused(end):
    assert refused(forged([entry("a", b"one")], NAMED, end=end))


@pytest.mark.parametrize("raw", [b"", b"x", b"PK\x03\x04" + bytes(100), b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\xfd" * 40])
def test_a_file_that_is_no_bundle_is_refused(raw):
    assert refused(raw)


def zeros(size):
    """A member of so many zero bytes, never whole in memory."""
    seen, block = hashlib.sha256(), bytes(1024 * 1024)
    for _ in range(size // len(block)):
        seen.update(block)
    artifact = bundle_format.Artifact("bomb", size, seen.hexdigest())
    named = {"manifest_version": 1, "artifacts": [artifact.shape()], "bundle_sha256": bundle_format.seal([artifact])}
    raw, target = json.dumps(named).encode(), io.BytesIO()
    with zstandard.ZstdCompressor(level=19).stream_writer(target, closefd=False) as stream:
        stream.write(entry("manifest.json", raw) + bundle_format.header("bomb", size))
        for _ in range(size // len(block)):
            stream.write(block)
        stream.write(bundle_format.END)
    packed = target.getvalue()
    return packed + bundle_format.trailer(hashlib.sha256(packed).digest())


def test_a_compression_bomb_is_refused_while_it_is_read_in_little_memory():
    bomb = zeros(256 * 1024 * 1024)
    assert len(bomb) < 64 * 1024
    tracemalloc.start()
    assert "times its size" in refused(bomb, BundleLimits(ratio=1000))
    assert "bytes" in refused(bomb, BundleLimits(total_bytes=1024))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 1024 * 1024


def test_a_window_that_wants_gigabytes_is_refused():
    options = zstandard.ZstdCompressionParameters(window_log=30, enable_ldm=True)
    raw = json.dumps(NAMED).encode()
    target = io.BytesIO()
    with zstandard.ZstdCompressor(compression_params=options).stream_writer(target, closefd=False) as stream:
        stream.write(entry("manifest.json", raw) + entry("a", b"one") + bundle_format.END)
    packed = target.getvalue()
    assert "unpacked" in refused(packed + bundle_format.trailer(hashlib.sha256(packed).digest()))


def test_a_bundle_of_any_size_passes_through_little_memory(tmp_path):
    block = random.Random(3).randbytes(1024 * 1024)
    with (tmp_path / "x").open("w+b") as file:
        tracemalloc.start()
        with bundles.BundleWriter(file, staging=tmp_path) as writer:
            writer.add("large", (block for _ in range(96)))
            writer.finish({})
        file.seek(0)
        _, report = bundles.verify(file)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert report.sound
    assert peak < 24 * 1024 * 1024
