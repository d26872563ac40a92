"""Tokenizers of text columns match the tokenizers package."""

import os
import pickle
from collections import Counter

import pandas as pd
import pytest
import tokenizers
from pyspark.sql import functions as F
from tokenizers import models, normalizers, pre_tokenizers, processors, trainers

from sparkdl import Tokenizer
from sparkdl.errors import ConfigError, DataError
from sparkdl.spark.text.encoding import encode_columns

TEXTS = [
    "the quick brown Fox jumps over the lazy dog",
    "a slower fox walks around the quickest dogs",
    "The brown dog was jumping, and the fox wasn't!",
    "crème brûlée for the quick fox",
]
CORPUS = [f"{one} {other}" for one in TEXTS for other in TEXTS for _ in range(3)]


@pytest.fixture
def frame(spark):
    rows = [(i, text) for i, text in enumerate(CORPUS)]
    return spark.createDataFrame(rows, "id int, text string").repartition(3)


def own_bpe():
    own = tokenizers.Tokenizer(models.BPE())
    own.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    return own, trainers.BpeTrainer(
        vocab_size=330, special_tokens=["<|endoftext|>"], initial_alphabet=letters
    )


def own_wordpiece():
    own = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    own.normalizer = normalizers.BertNormalizer()
    own.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    return own, trainers.WordPieceTrainer(vocab_size=90, special_tokens=special)


def test_merges_of_bytes_are_those_of_the_package(frame):
    """Trained on all texts in one process, it assigns the same ids to the same tokens."""
    own, trainer = own_bpe()
    own.train_from_iterator(CORPUS, trainer)
    ours = Tokenizer.train(frame, "text", kind="bpe", tokens=330, lowercase=False, min_count=1)
    assert tokenizers.Tokenizer.from_str(ours.content).get_vocab() == own.get_vocab()
    assert len(ours) == 330
    for text in TEXTS:
        assert ours.encode(text) == own.encode(text).ids
        assert ours.decode(ours.encode(text)) == text


def test_an_empty_text_has_no_tokens_and_a_null_none():
    own, trainer = own_bpe()
    own.train_from_iterator(CORPUS, trainer)
    texts = pd.Series([TEXTS[0], "", None])
    found = encode_columns((texts,), ("ids",), own.to_str(), None, False)
    assert found["ids"].tolist() == [own.encode(TEXTS[0]).ids, [], None]


def test_word_pieces_are_those_of_the_package(frame):
    """Except ties between pairs, which the package breaks differently from run to run."""
    own, trainer = own_wordpiece()
    own.train_from_iterator(CORPUS, trainer)
    ours = Tokenizer.train(frame, "text", tokens=90, min_count=1)
    known = tokenizers.Tokenizer.from_str(ours.content).get_vocab()
    special = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}
    assert special.items() <= known.items() and len(known) == 90
    assert len(known.keys() & own.get_vocab().keys()) > 80
    lengths = Counter()
    for text in CORPUS:
        lengths["ours"] += len(ours.encode(text)) - 2
        lengths["own"] += len(own.encode(text).ids)
        assert (
            ours.decode(ours.encode(text)).split()[:2]
            == own.decode(own.encode(text).ids).replace(" ##", "").split()[:2]
        )
    assert lengths["ours"] == pytest.approx(lengths["own"], rel=0.02)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A tokenizer.json with [CLS] and [SEP] that truncates and pads by default."""
    own, trainer = own_wordpiece()
    own.train_from_iterator(CORPUS, trainer)
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    own.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    own.enable_truncation(4)
    own.enable_padding(length=4)
    path = tmp_path_factory.mktemp("model") / "tokenizer.json"
    own.save(str(path))
    own.no_truncation()
    own.no_padding()
    return path, own


def test_a_column_of_ids(frame, saved, tmp_path):
    """The lists vary in length; a null stays null; the other columns stay."""
    path, own = saved
    tokenizer = pickle.loads(pickle.dumps(Tokenizer.read(path.parent)))
    empty = F.when(F.col("id") != 3, F.col("text"))
    rows = tokenizer.transform(frame.withColumn("text", empty), "text", steps=12).collect()
    assert len(rows) == len(CORPUS) and rows[0].asDict().keys() == {"id", "text", "features"}
    own.enable_truncation(12)
    for row in rows:
        expected = None if row["id"] == 3 else own.encode(CORPUS[row["id"]]).ids
        assert row["features"] == expected
    own.no_truncation()
    tokenizer.save(tmp_path / "copy.json")
    assert Tokenizer.read(tmp_path / "copy.json").content == tokenizer.content


def test_columns_may_have_dots_and_backticks(frame, saved):
    odd = frame.where("id < 2").withColumnRenamed("text", "a.`text`")
    found = Tokenizer.read(saved[0]).transform(odd, "a.`text`", ids="token.ids").collect()
    assert [row["token.ids"] for row in found] == [saved[1].encode(t).ids for t in CORPUS[:2]]
    assert found[0].asDict().keys() == {"id", "a.`text`", "token.ids"}


def test_pairs_of_texts_with_padding(frame, saved):
    """Hugging Face modules take ids, mask and types, all of one length."""
    path, own = saved
    own.enable_padding(length=50)
    pairs = frame.withColumn("other", F.lit(TEXTS[0])).where("id < 6")
    names = {"ids": "input_ids", "mask": "attention_mask", "segments": "token_type_ids"}
    given = Tokenizer.read(path).transform(pairs, ("text", "other"), **names, steps=50, pad=True)
    for row in given.collect():
        expected = own.encode(row["text"], TEXTS[0])
        assert row["input_ids"] == expected.ids and row["token_type_ids"] == expected.type_ids
        assert row["attention_mask"] == expected.attention_mask
    own.no_padding()


def test_what_cannot_be_is_refused(frame, saved, tmp_path):
    tokenizer = Tokenizer.read(saved[0])
    for options, words in (
        ({"steps": 0}, "steps must be an integer >= 1, got 0"),
        ({"pad": True}, "steps must be given where pad is True"),
        ({"ids": "TEXT"}, "must not have the columns"),
        ({"mask": "features"}, "new columns must have different names, got"),
    ):
        with pytest.raises(ConfigError, match=words):
            tokenizer.transform(frame, "text", **options)
    with pytest.raises(ConfigError, match=r"must not have the columns \['sparkdl_tokens'\]"):
        tokenizer.transform(frame.withColumn("sparkdl_tokens", frame["id"]), "text")
    with pytest.raises(DataError, match="must hold texts, got int"):
        tokenizer.transform(frame, "id")
    with pytest.raises(DataError, match="has no column 'texts'"):
        Tokenizer.train(frame, "texts")
    with pytest.raises(ConfigError, match="kind must be one of"):
        Tokenizer.train(frame, "text", kind="unigram")
    with pytest.raises(DataError, match="must hold words, got none"):
        Tokenizer.train(frame.where("id < 0"), "text")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(DataError, match="tokenizer.json: a tokenizer.json that cannot be used"):
        Tokenizer.read(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="pipe: must be a file, got a pipe"):
        Tokenizer.read(tmp_path / "pipe")
