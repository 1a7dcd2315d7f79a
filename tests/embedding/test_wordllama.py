"""wordllama: the same vectors as its own library, without its library."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from memory.embedding.encoder import EncoderProblem
from memory.embedding.encoder_kinds import WORDLLAMA, package_folder
from memory.embedding.wordllama import DIGESTS, WordLlama
from tests.embedding.sentences import SENTENCES

# In a process of its own: importing the library sets up logging.
LIBRARY = """
import json, sys
from pathlib import Path
import wordllama
model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
print(json.dumps(model.embed(json.load(sys.stdin), norm=True).tolist()))
"""


def test_it_gives_the_vectors_of_the_library(loaded):
    texts = list(SENTENCES[::4])
    done = subprocess.run(
        [sys.executable, "-c", LIBRARY], input=json.dumps(texts), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    library = np.array(json.loads(done.stdout), dtype=np.float32)
    assert np.allclose(loaded("wordllama").encode(texts), library, atol=1e-5)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "two  spaces",
        " before and after ",
        "a\u2581b",
        "<s> </s>",
        "tab\tline\nend",
        "日本 語",
        "half \ud800",
        *SENTENCES[1::7],
    ],
)
def test_words_are_cut_as_they_are_in_the_whole_text(loaded, text):
    model = loaded("wordllama")
    for _ in range(2):  # the second time from memory
        assert model._word_pieces(text) == model._tokenise(text)


@pytest.mark.parametrize("name", list(DIGESTS))
@pytest.mark.parametrize("content", [None, b"half"])
def test_missing_or_foreign_files_are_refused(tmp_path, name, content):
    for file in DIGESTS:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        if file != name:
            (tmp_path / file).symlink_to(package_folder(WORDLLAMA.weights) / file)
        elif content is not None:
            (tmp_path / file).write_bytes(content)
    with pytest.raises(EncoderProblem, match=rf"{name.split('/')[1]}.*[Ii]nstall"):
        WordLlama(tmp_path)
