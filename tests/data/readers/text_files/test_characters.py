"""Characters to numbers and back, and text files as sequences of characters."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkdl.data import Batch, Characters, OneHot, Schema, TextSequences, check_batches, files
from sparkdl.data.records.label import Label
from sparkdl.errors import ConfigError, DataError

POEM = "Über allen Gipfeln\nIst Ruh,\nIn allen Wipfeln\nSpürest du\nKaum einen Hauch; € 𝄞\n" * 30
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@given(TEXTS)
def test_a_text_comes_back(text):
    characters = Characters.of(text)
    codes = characters.encode(text)
    assert characters.decode(codes) == text
    assert set(codes.tolist()) == set(range(len(characters)))
    assert [*characters.alphabet] == sorted(set(text))


def test_more_than_256_characters_take_more_than_a_byte():
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 257)))
    codes = Characters.of(text).encode(text)
    assert codes.dtype == np.int32 and codes.tolist() == [*range(257)]
    assert Characters.of(text[:256]).encode(text[:256]).dtype == np.uint8


def test_an_alphabet_is_saved_and_read():
    characters = Characters.of(POEM)
    characters.save("memory://text/alphabet.json")
    assert Characters.load("memory://text/alphabet.json") == characters
    for other in b"{}", b"[" * 100_000:
        write("memory://text/other.json", other)
        with pytest.raises(DataError, match="other.json: must hold an alphabet"):
            Characters.load("memory://text/other.json")


def test_a_file_has_the_characters_of_its_text(monkeypatch):
    monkeypatch.setattr(
        "sparkdl.data.readers.text_files.characters.PIECE", 3
    )  # so that pieces end inside characters
    write("memory://text/poem.txt", POEM.encode())
    assert Characters.of_file("memory://text/poem.txt") == Characters.of(POEM)
    write("memory://text/latin.txt", POEM[:-40].encode("latin-1", "replace"))
    with pytest.raises(DataError, match="latin.txt: must be UTF-8"):
        Characters.of_file("memory://text/latin.txt")


def test_what_is_not_in_the_alphabet_is_refused():
    with pytest.raises(DataError, match="character 2 must be one of 2 known, got 'c'"):
        Characters("ab").encode("abc")
    with pytest.raises(DataError, match=r"numbers of characters must be in \[0, 2\), got 0 to 2"):
        Characters("ab").decode([0, 2])
    for bad in ("", "aba", 3):
        with pytest.raises(ConfigError, match="Characters.alphabet must be characters, each of"):
            Characters(bad)


def write(path, content):
    with files.open(path, "wb") as file:
        file.write(content)
    return path


def read(source):
    read_, splits = pickle.loads(pickle.dumps((source.read, source.splits())))
    batches = [batch for split in splits for batch in read_(split)]
    assert [int(b.ids[0] >> 40) for b in batches] == [*range(len(splits))]
    return batches


def sequences(source, batch):
    """Returns (text of the features, text of the labels) of each record."""
    decode = source.characters.decode
    return [(decode(x), decode(y)) for x, y in zip(batch.features, batch.labels, strict=True)]


ASCII = "the quick brown fox jumps over the lazy dog. " * 40


def mixed():
    """Returns a text of 1,500 different characters, of 1 to 4 bytes each."""
    starts = [(0x20, 95), (0xC0, 500), (0x4E00, 500), (0x1F300, 405)]
    points = np.concatenate([np.arange(first, first + n) for first, n in starts])
    return "".join(map(chr, np.random.default_rng(0).permutation(points)))


@pytest.mark.parametrize("records", [None, 1, 3, 40])
@pytest.mark.parametrize("steps, stride", [(10, None), (7, 3), (5, 9), (1, None)])
def test_every_character_has_the_next_one_as_its_label(records, steps, stride):
    text = mixed()
    path = write("memory://text/a.txt", text.encode())
    options = {"steps": steps, "stride": stride, "records_per_split": records}
    source = TextSequences(path, Characters.of(text), **options)
    batches, labelled = read(source), []
    for x, y in (pair for batch in batches for pair in sequences(source, batch)):
        at = text.index(x[0])
        assert (x, y) == (text[at : at + steps], text[at + 1 : at + steps + 1])
        labelled += range(at + 1, at + steps + 1)
    counts = np.bincount(labelled, minlength=len(text))
    assert counts[-1] and not counts[0]
    if stride is None:
        assert counts[1:].min() == 1 and counts.sum() < len(text) + steps * len(batches)
    assert len(batches) > (1 if records or steps == 1 else 0)


def test_splits_of_ascii_are_cut_like_the_whole():
    path = write("memory://text/b.txt", ASCII.encode())
    whole, cut = (
        TextSequences(path, Characters.of(ASCII), steps=5, records_per_split=n) for n in (9999, 6)
    )
    one, many = Batch.concat(read(whole)), Batch.concat(read(cut))
    assert len(cut.splits()) > 40
    np.testing.assert_array_equal(many.features, one.features)
    np.testing.assert_array_equal(many.labels, one.labels)


@pytest.mark.parametrize("records", [None, 1, 10, 9999])
@pytest.mark.parametrize("steps, stride", [(50, 1), (50, 8), (7, None), (5, 9)])
def test_the_sequences_are_those_of_the_whole_text(records, steps, stride):
    path = write("memory://text/g.txt", ASCII.encode())
    source = TextSequences(
        path, Characters.of(ASCII), steps=steps, stride=stride, records_per_split=records
    )
    batch = Batch.concat(read(source))
    codes = np.searchsorted(sorted(set(ASCII)), [*ASCII])
    windows = np.lib.stride_tricks.sliding_window_view(codes, steps + 1)
    starts = np.arange(0, len(ASCII) - steps, stride or steps)
    expected = windows[np.union1d(starts, len(ASCII) - steps - 1)]
    np.testing.assert_array_equal(batch.features, expected[:, :-1])
    np.testing.assert_array_equal(batch.labels, expected[:, 1:])


@pytest.mark.parametrize("steps, stride", [(10, 1), (7, 3), (3, None), (1, 4)])
def test_splits_decide_on_no_sequence_of_characters_of_several_bytes(steps, stride):
    text = mixed()
    path = write("memory://text/h.txt", text.encode())
    options = {"steps": steps, "stride": stride, "part": (0.1, 0.9)}
    sources = [
        TextSequences(path, Characters.of(text), records_per_split=n, **options)
        for n in (9999, None, 1, 30)
    ]
    one, *others = (Batch.concat(read(source)) for source in sources)
    assert len({len(source.splits()) for source in sources}) == 4
    for other in others:
        np.testing.assert_array_equal(other.features, one.features)
        np.testing.assert_array_equal(other.labels, one.labels)


def test_parts_meet():
    path = write("memory://text/c.txt", POEM.encode())
    options = {"steps": 4, "stride": 4, "records_per_split": 20}
    first, second = (
        TextSequences(path, Characters.of(POEM), part=part, **options)
        for part in ((0, 0.7), (0.7, 1))
    )
    last = sequences(first, read(first)[-1])[-1]
    begin = sequences(second, read(second)[0])[0]
    end = POEM.rindex(last[0] + last[1][-1], 0, int(len(POEM) * 0.72)) + 5
    assert POEM[end : end + 4] == begin[0] and abs(end / len(POEM) - 0.7) < 0.02


def test_vectors_are_made_in_the_worker():
    path = write("memory://text/d.txt", ASCII.encode())
    characters = Characters.of(ASCII)
    source = TextSequences(path, characters, steps=6)
    assert source.transform == OneHot(classes=len(characters))
    assert TextSequences(path, characters, one_hot=False).transform is None
    label = Label(kind="class", size=len(characters), shape=(6,))
    schema = Schema(features=(6,), labels={"labels": label})
    (batch,) = check_batches(source.read, source.splits()[0], schema)
    assert batch.features.dtype == np.uint8 and batch.labels.dtype == np.int32
    assert source.transform(batch).features.shape == (len(batch), 6, len(characters))


def test_a_text_that_is_too_short_is_named():
    path = write("memory://text/e.txt", b"abc")
    with pytest.raises(DataError, match="e.txt, bytes 0 to 3: needs over 3 characters, got 3"):
        read(TextSequences(path, Characters("abc"), steps=3))
    assert len(read(TextSequences(path, Characters("abc"), steps=2))[0]) == 1


def test_an_unknown_character_and_a_missing_file_are_named():
    path = write("memory://text/f.txt", b"abcabd")
    with pytest.raises(DataError, match="f.txt, bytes 0 to 6: character 5 must be one of 3 known"):
        read(TextSequences(path, Characters("abc"), steps=2))
    with pytest.raises(DataError, match="memory://text/none: there is no such file"):
        TextSequences("memory://text/none", Characters("abc")).splits()
    write("memory://text/f.txt", b"abc\x80\x80\x80\x80\x80\x80\x80" * 9)
    for begin in (0, 0.5):
        with pytest.raises(DataError, match="f.txt, bytes .*: must be UTF-8"):
            read(TextSequences(path, Characters("abc"), steps=2, part=(begin, 1)))


OPTIONS = [
    ({"steps": 0}, "TextSequences.steps must be an integer >= 1"),
    ({"stride": 0}, "TextSequences.stride must be an integer >= 1"),
    ({"part": (0.5, 0.5)}, "TextSequences.part must be two shares"),
    ({"part": (0, 1.5)}, r"TextSequences.part\[1\] must be a number in \[0, 1\]"),
    ({"records_per_split": -1}, "TextSequences.records_per_split must be"),
]


@pytest.mark.parametrize("options, message", OPTIONS, ids=[m for _, m in OPTIONS])
def test_options_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        TextSequences("a", Characters("abc"), **options)
    with pytest.raises(ConfigError, match="TextSequences.characters must be a Characters or"):
        TextSequences("a", 3)


ALPHABETS = {  # the option `characters`, and a function that writes the file with the alphabet
    "of the file": (None, lambda path, text: (path / "text").write_text(text)),
    "saved": ("saved", lambda path, text: Characters.of(text).save(path / "saved")),
}


@pytest.mark.parametrize("case", ALPHABETS)
def test_sources_of_other_alphabets_are_not_the_same(case, tmp_path):
    characters, change = ALPHABETS[case]
    (tmp_path / "text").write_text("bcb" * 40)
    change(tmp_path, "abc" * 40)
    options = {"steps": 5, "characters": characters and f"{tmp_path}/{characters}"}
    before = TextSequences(f"{tmp_path}/text", **options)
    assert len(before.alphabet) == 3
    change(tmp_path, "bcb" * 40)
    after = TextSequences(f"{tmp_path}/text", **options)
    assert None not in (before.identity(), after.identity())
    assert before.identity() != after.identity()
    assert after.identity() == TextSequences(f"{tmp_path}/text", **options).identity()


def test_an_alphabet_that_is_given_is_part_of_the_identity(tmp_path):
    (tmp_path / "text").write_text("abc" * 40)
    one, other = (TextSequences(f"{tmp_path}/text", Characters(c)) for c in ("abc", "abcd"))
    assert one.identity() != other.identity()
    assert TextSequences(f"{tmp_path}/none").identity() is None
