"""Captions as ids like CaffeOnSpark's; the expected ids are worked out by hand from its tools."""

import json

import numpy as np
import pytest

from sparkdl.errors import ConfigError, DataError
from sparkdl.interop.caffe.captions import Vocab, coco_captions, words_of

CAPTIONS = ["A dog runs.", "The dog, a big dog", "A cat"]
IMAGE = {"id": 7, "height": 4, "width": 5, "file_name": "7.jpg", "flickr_url": "f", "coco_url": "c"}


@pytest.mark.parametrize(
    ("caption", "words"),
    [
        ("A dog runs.", ["a", "dog", "runs"]),
        ("  It's  2 dogs ", ["it", "'", "s", "2", "dogs"]),
        ("One. Two!", ["one", ".", "two", "!"]),
        ('Oh.\n"Wow" it\x85 barks', ["oh", '. "', "wow", '"', "it", "barks"]),
        ("", []),
    ],
)
def test_words_are_runs_of_letters_and_of_marks(caption, words):
    assert words_of(caption) == words


def test_words_are_numbered_by_how_frequent_they_are(tmp_path):
    vocab = Vocab.from_captions(CAPTIONS)
    assert vocab.words == ["UNK", "a", "dog", ",", "big", "cat", "runs", "the"]
    assert Vocab.from_captions(CAPTIONS, 2).words == ["UNK", "a", "dog"]
    vocab.save(tmp_path / "vocab")
    assert (tmp_path / "vocab").read_text().split("\n")[:3] == ["UNK", "a", "dog"]
    assert Vocab.load(tmp_path / "vocab").words == vocab.words
    broken = Vocab.from_captions(['A dog.\n"Wow" it barks', "a\u2028cat"])
    (tmp_path / "vocab").write_bytes(b"UNK\r\na\r\nb\r\n")
    assert Vocab.load(tmp_path / "vocab").words == ["UNK", "a", "b"]
    broken.save(tmp_path / "vocab")
    assert Vocab.load(tmp_path / "vocab").words == broken.words


def test_sentences_are_those_that_a_net_of_captions_reads():
    vocab = Vocab(["UNK", "a", "dog", "runs"])
    rows = {name: row.tolist() for name, row in vocab.encode("A dog flies.", 6).items()}
    assert rows == {
        "input_sentence": [0, 1, 2, 1, -1, -1],
        "cont_sentence": [0, 1, 1, 1, -1, -1],
        "target_sentence": [1, 2, 1, 0, -1, -1],
    }
    short = vocab.encode("a dog runs", 3)
    assert [row.tolist() for row in short.values()] == [[0, 1, 2], [0, 1, 1], [1, 2, 0]]
    assert {row.dtype for row in short.values()} == {np.dtype(np.int32)}
    assert vocab.decode([1, 2, 3, 0, -1]) == "a dog runs"


def test_what_is_no_vocabulary_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"words must begin with 'UNK', got \['a'\]"):
        Vocab(["a"])
    with pytest.raises(ConfigError, match=r"words must have no line breaks, got 'a\\nb'"):
        Vocab(["UNK", "a\nb"])
    with pytest.raises(ConfigError, match="length must be at least 1, got 0"):
        Vocab(["UNK"]).encode("a", 0)
    with pytest.raises(DataError, match=r"below 1, got \[3\]"):
        Vocab(["UNK"]).decode([0, 3])
    (tmp_path / "vocab").write_bytes(b"\xff")
    with pytest.raises(DataError, match="is no vocabulary"):
        Vocab.load(tmp_path / "vocab")


def test_captions_of_coco_stand_beside_their_images(tmp_path):
    notes = [{"id": 1, "image_id": 7, "caption": "A dog"}, {"id": 2, "image_id": 8, "caption": "?"}]
    path = tmp_path / "captions.json"
    path.write_text(json.dumps({"images": [IMAGE], "annotations": notes}))
    sizes = {"height": 4, "width": 5, "file": "7.jpg"}
    assert coco_captions(path) == [{"id": 1, **sizes, "url": "f", "caption": "A dog"}]
    path.write_text(json.dumps({"images": [IMAGE]}))
    assert coco_captions(path) == [{"id": 7, **sizes, "url": "c"}]


@pytest.mark.parametrize("content", ["[]", "{}", "no", '{"images": [3]}', '{"images": [{}]}'])
def test_what_is_no_file_of_coco_is_refused(content, tmp_path):
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(DataError, match="no file of COCO captions"):
        coco_captions(tmp_path / "a.json")
