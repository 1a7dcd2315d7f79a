"""MiniLM: the eight-bit graph says what the 32-bit weights say, and is built once, whole and from the right file."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from memory.embedding import minilm_graph, model_files, tensors
from memory.embedding.encoder import EncoderProblem
from memory.embedding.encoder_kinds import MINILM, package_folder
from memory.embedding.minilm import GRAPH, MiniLM
from tests.embedding import reference
from tests.embedding.sentences import SENTENCES, TRIPLES
from tests.packaging.project_files import ROOT
from tests.servers import missing

PACKAGE = package_folder(MINILM.weights)
if PACKAGE is None:
    pytest.skip(missing("minilm", "its weights are not installed"), allow_module_level=True)


@pytest.fixture(scope="module")
def weights():
    return reference.aligned(tensors.read_tensors(PACKAGE / "model" / "model.safetensors"))


@pytest.fixture(scope="module")
def minilm(loaded) -> MiniLM:
    return loaded("all-MiniLM-L6-v2")


@pytest.fixture
def built(models, minilm, tmp_path) -> Path:
    """A models folder of one's own, with the graph in it."""
    shutil.copytree(models, tmp_path / "models")
    return tmp_path / "models"


def graphs(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{GRAPH}*"))


def test_eight_bits_say_what_32_bits_say(minilm, weights):
    pieces = Tokenizer.from_file(str(PACKAGE / "model" / "tokenizer.json"))
    pieces.no_padding()
    some = SENTENCES[::20]
    exact = np.stack([reference.vector(pieces.encode(text).ids, weights) for text in some])
    cosines = (exact * minilm.encode(some)).sum(axis=1)
    assert cosines.mean() > 0.985
    assert cosines.min() > 0.95


def test_similar_and_unrelated_are_far_apart(minilm):
    rows = [minilm.encode(triple) for triple in TRIPLES]
    assert min(float(one @ same) for one, same, _ in rows) > 0.7
    assert max(float(one @ other) for one, _, other in rows) < 0.15


def test_only_the_first_256_word_pieces_count(minilm):
    start = "alpha beta " * 127  # with the two marks exactly 256 pieces
    first, second = minilm.encode([start + "gamma", start + "something else entirely"])
    assert np.array_equal(first, second)
    assert not np.array_equal(first, minilm.encode(["alpha beta " * 126])[0])


def test_marks_of_the_model_in_a_text_are_plain_characters(minilm):
    plain, marked = minilm.encode(["hello", "hello [SEP]"])
    assert not np.array_equal(plain, marked)
    assert minilm._pieces.encode("hello [SEP]").ids.count(102) == 1


def test_weights_are_rounded_within_the_reduced_range_of_each_column():
    weight = np.random.default_rng(7).normal(size=(50, 8)).astype(np.float32) * np.geomspace(
        1e-3, 10, 8, dtype=np.float32
    )
    numbers, scale = minilm_graph.by_column(weight)
    assert numbers.dtype == np.int8 and scale.dtype == np.float32
    assert np.abs(numbers).max(axis=0).tolist() == [64] * 8
    assert (np.abs(numbers * scale - weight) <= scale * 0.5001).all()


def test_the_graph_is_small_private_and_the_same_every_time(built, tmp_path):
    (path,) = graphs(built)
    assert 20e6 < path.stat().st_size < 25e6
    assert {stat.S_IMODE(file.stat().st_mode) for file in built.iterdir()} == {0o600}
    MiniLM(PACKAGE, tmp_path / "again")
    assert [file.name for file in graphs(tmp_path / "again")] == [path.name]


def test_what_is_built_is_taken_as_it_is(built):
    (path,) = graphs(built)
    before = path.stat()
    MiniLM(PACKAGE, built)
    assert (graphs(built), path.stat().st_mtime_ns) == ([path], before.st_mtime_ns)


@pytest.mark.parametrize("harm", ["half", "empty", "one bit"])
def test_a_damaged_graph_is_built_again(built, harm, minilm):
    (path,) = graphs(built)
    content = bytearray(path.read_bytes())
    if harm == "one bit":
        content[len(content) // 2] ^= 1
    path.write_bytes(content if harm == "one bit" else content[: len(content) // 2] if harm == "half" else b"")
    again = MiniLM(PACKAGE, built)
    assert np.array_equal(again.encode(SENTENCES[:3]), minilm.encode(SENTENCES[:3]))
    assert graphs(built) == [path]
    assert model_files.digest_of(path).startswith(path.suffix[1:])


def test_what_a_killed_builder_left_is_cleared_away(built):
    (path,) = graphs(built)
    half = path.with_name(f"{path.name}.0123abcd.part")
    half.write_bytes(path.read_bytes()[:1000])
    path.unlink()
    MiniLM(PACKAGE, built)
    assert graphs(built) == [path]


def test_a_builder_that_is_killed_lets_the_next_one_build(tmp_path):
    code = (
        "import os, pathlib, sys\n"
        "from memory.embedding import model_files\n"
        "model_files.build_once(pathlib.Path(sys.argv[1]), 'x', lambda: os.kill(os.getpid(), 9))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], cwd=ROOT)
    assert done.returncode == -9
    assert model_files.build_once(tmp_path, "x", lambda: b"whole").read_bytes() == b"whole"


def test_several_processes_at_once_build_one_graph(tmp_path):
    code = (
        "import pathlib, sys, time\n"
        "from memory.embedding import model_files\n"
        "def build():\n"
        "    pathlib.Path(sys.argv[1], f'built-{time.monotonic_ns()}').touch()\n"
        "    time.sleep(0.5)\n"
        "    return b'x' * 1_000_000\n"
        "print(model_files.build_once(pathlib.Path(sys.argv[1]), 'x', build).name)\n"
    )
    several = [
        subprocess.Popen([sys.executable, "-c", code, tmp_path], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    said = {one.communicate(timeout=60)[0] for one in several}
    assert [one.returncode for one in several] == [0] * 4
    assert len(said) == 1
    assert len(list(tmp_path.glob("built-*"))) == 1


def package_with(tmp_path: Path, **files: bytes | None) -> Path:
    folder = tmp_path / "package" / "model"
    shutil.copytree(PACKAGE / "model", folder, ignore=shutil.ignore_patterns("model.safetensors"))
    for name, content in files.items():
        path = folder / name.replace("_", ".")
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_bytes(content)
    return folder.parent


@pytest.fixture(scope="module")
def beginning() -> bytes:
    with (PACKAGE / "model" / "model.safetensors").open("rb") as file:
        return file.read(1_000_000)


def test_missing_truncated_and_foreign_weights_are_refused(tmp_path, beginning):
    for number, content in enumerate((None, beginning, b"something else", b"")):
        package = package_with(tmp_path / str(number), model_safetensors=content)
        with pytest.raises(EncoderProblem, match=r"model\.safetensors.*[Ii]nstall"):
            MiniLM(package, tmp_path / "models")
    assert graphs(tmp_path / "models") == []


def test_another_tokenizer_is_refused_even_with_a_graph(tmp_path, built):
    package = package_with(tmp_path, tokenizer_json=b"{}")
    with pytest.raises(EncoderProblem, match=r"tokenizer\.json is not the file its package brought"):
        MiniLM(package, built)


def test_weights_are_not_needed_once_the_graph_is_built(tmp_path, built):
    MiniLM(package_with(tmp_path, model_safetensors=None), built)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 4,
        (2**63).to_bytes(8, "little"),
        (10).to_bytes(8, "little") + b"not json..",
        (2).to_bytes(8, "little") + b"[]",
        (10).to_bytes(8, "little") + b'{"a": 1}  ',
        (66).to_bytes(8, "little")
        + b'{"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}'.ljust(66)
        + b"\0" * 15,
        (66).to_bytes(8, "little")
        + b'{"a":{"dtype":"F99","shape":[2,2],"data_offsets":[0,16]}}'.ljust(66)
        + b"\0" * 16,
    ],
)
def test_a_broken_file_of_arrays_is_named(tmp_path, content):
    (tmp_path / "some.safetensors").write_bytes(content)
    with pytest.raises(EncoderProblem, match=r"some\.safetensors cannot be read"):
        tensors.read_tensors(tmp_path / "some.safetensors")


@pytest.fixture
def sealed() -> Iterator[Path]:
    """A folder in which this process may not write, not even as root."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o555)
    me = os.geteuid()
    if me == 0:
        os.seteuid(65534)
    try:
        yield folder
    finally:
        os.seteuid(me)
        folder.chmod(0o700)
        shutil.rmtree(folder)


def test_a_folder_that_cannot_be_written_is_named(sealed):
    with pytest.raises(EncoderProblem, match=r"cannot be written \(Permission denied\)\. Give it to the user"):
        model_files.build_once(sealed, "x", lambda: b"y")
    with pytest.raises(EncoderProblem, match="cannot be written"):
        model_files.build_once(sealed / "deeper", "x", lambda: b"y")


def test_a_folder_that_cannot_be_written_is_enough_once_it_holds_the_graph(tmp_path):
    path = model_files.build_once(tmp_path, "x", lambda: b"y")
    tmp_path.chmod(0o555)
    assert model_files.build_once(tmp_path, "x", lambda: pytest.fail("built again")) == path


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "models").write_text("")
    with pytest.raises(EncoderProblem, match="cannot be written"):
        model_files.build_once(tmp_path / "models", "x", lambda: b"y")
