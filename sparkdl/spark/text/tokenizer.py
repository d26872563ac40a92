"""Tokenizers: texts of a DataFrame as ids of tokens."""

from collections.abc import Iterator
from os import PathLike
from typing import Any, Self

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, IntegerType, StringType, StructField, StructType

from sparkdl.config import is_integer
from sparkdl.data import files
from sparkdl.data.readers.encodings.arrow_columns import require_column
from sparkdl.data.whole_files import read_whole
from sparkdl.errors import ConfigError, DataError, brief, text_of
from sparkdl.spark.inference.predictions import check_new
from sparkdl.spark.records.frame_schema import WHERE
from sparkdl.spark.records.records import quote_name
from sparkdl.spark.text.encoding import encode_columns, load_tokenizer
from sparkdl.spark.text.token_kinds import KINDS, train, untrained
from sparkdl.spark.text.word_counts import count_words

LONGEST = 64 << 20  # bytes of a tokenizer.json
LISTS = ArrayType(IntegerType())
HELD = "sparkdl_tokens"  # temporary column, the struct of all lists


class Tokenizer:
    """Converts texts to token ids, with Hugging Face's package tokenizers.

    Driver and executors need the package: `pip install 'sparkdl-hadoop[tokenizers]'`. A tokenizer
    is sent to the executors as text, and each process builds it once.

    Parameters
    ----------
    content : str
        A tokenizer.json. See `read` and `train`.

    Raises
    ------
    DataError
        The text is none.

    Examples
    --------
    >>> tokenizer = Tokenizer.train(df, "text", tokens=8000)             # doctest: +SKIP
    >>> data = tokenizer.transform(df, "text", steps=128)                # doctest: +SKIP
    """

    def __init__(self, content: str) -> None:
        self.content = content
        try:
            self._tokenizer = load_tokenizer(content)
        except ConfigError:
            raise
        except Exception as error:  # the package has no class of its own
            raise DataError(f"a tokenizer.json that cannot be used: {text_of(error)}") from error

    def __len__(self) -> int:
        """The number of tokens, which are 0 to len(tokenizer) - 1."""
        return self._tokenizer.get_vocab_size()

    def __reduce__(self) -> Any:
        return Tokenizer, (self.content,)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """Returns the tokenizer of a tokenizer.json, or of a folder that holds one.

        Raises DataError where there is none.
        """
        path = str(path)
        path = f"{path}/tokenizer.json" if files.is_directory(path) else path
        content = read_whole(path, LONGEST)
        try:
            return cls(content.decode())
        except (DataError, UnicodeDecodeError) as error:
            raise DataError(f"{path}: {error}") from error

    @classmethod
    def train(
        cls,
        frame: DataFrame,
        column: str,
        *,
        kind: str = "wordpiece",
        tokens: int = 8000,
        lowercase: bool = True,
        min_count: int = 2,
    ) -> Self:
        """Returns a tokenizer for the texts of a DataFrame.

        Executors cut the texts into words and count them; the driver merges from the counts.

        Parameters
        ----------
        frame : DataFrame
        column : str
            Of texts; nulls are left out.
        kind : str
            "wordpiece", as BERT has it, with [PAD] as id 0, and [CLS] and [SEP] around a text;
            "bpe", of bytes as GPT-2 has it, with <|endoftext|> as id 0.
        tokens : int
            Size of the vocabulary; smaller if the texts do not have as many tokens.
        lowercase : bool
            Whether to lowercase texts; "wordpiece" then also strips accents.
        min_count : int
            Words that occur less often are ignored, and such pairs are not merged.
        """
        check_training(kind, tokens, min_count)
        check_texts(frame, (column,))
        words = count_words(frame, column, kind, lowercase, min_count)
        if not words:
            raise DataError(f"{WHERE}: column {column!r} must hold words, got none")
        words = dict(sorted(words.items()))
        return cls(train(untrained(kind, lowercase), kind, words, tokens, min_count))

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a tokenizer.json, which the package tokenizers and transformers read, too."""
        files.write(path, self.content.encode())

    def encode(self, text: str) -> list[int]:
        """Returns the ids of a text."""
        return self._tokenizer.encode(text).ids

    def decode(self, ids: Any) -> str:
        """Returns the text of ids, without tokens such as [CLS]."""
        return self._tokenizer.decode([int(number) for number in ids])

    def transform(
        self,
        frame: DataFrame,
        column: str | tuple[str, str],
        ids: str = "features",
        *,
        mask: str | None = None,
        segments: str | None = None,
        steps: int | None = None,
        pad: bool = False,
    ) -> DataFrame:
        """Returns a DataFrame, batch or streaming, with a further column of token ids; lazy.

        sparkdl's networks pad and mask when a minibatch is formed, so they need only the ids. A
        null text has null ids.

        Parameters
        ----------
        frame : DataFrame
        column : str or pair of str
            Of texts, or of two texts that are joined.
        ids, mask, segments : str
            Columns to add, of lists of whole numbers: the ids; 1 for tokens and 0 for padding; 0
            for tokens of the first text and 1 for those of the second.
        steps : int, optional
            Largest number of tokens of a text; longer texts are truncated, but keep their special
            tokens.
        pad : bool
            Whether to pad all texts to `steps` tokens, at the end.

        Raises
        ------
        ConfigError
            For an invalid option, and where the DataFrame has a new column already, or one named
            "sparkdl_tokens", which is used on the way.
        DataError
            For a column that is missing or holds no texts.
        """
        columns = (column,) if isinstance(column, str) else tuple(column)
        check_texts(frame, columns)
        if steps is not None and not is_integer(steps, 1):
            raise ConfigError(f"Tokenizer.steps must be an integer >= 1, got {steps!r}")
        if pad and steps is None:
            raise ConfigError("Tokenizer.steps must be given where pad is True, got None")
        new = {"ids": ids, "mask": mask, "segments": segments}
        new = {part: name for part, name in new.items() if name is not None}
        check_new(frame.columns, [StructField(name, LISTS) for name in (HELD, *new.values())])
        encoded = column_encoder(tuple(new), self.content, steps, pad)(*map(quote_name, columns))
        wide = frame.withColumn(HELD, encoded)
        added = (F.col(HELD)[part].alias(name) for part, name in new.items())
        return wide.select(*map(quote_name, frame.columns), *added)


def column_encoder(parts, content, steps, pad):
    """Returns a function of one or two columns that gives a struct of some of PARTS."""
    fields = StructType([StructField(name, LISTS) for name in parts])

    def encode_one(batches: Iterator[pd.Series]) -> Iterator[pd.DataFrame]:
        for texts in batches:
            yield encode_columns((texts,), parts, content, steps, pad)

    def encode_two(batches: Iterator[tuple[pd.Series, pd.Series]]) -> Iterator[pd.DataFrame]:
        for texts in batches:
            yield encode_columns(texts, parts, content, steps, pad)

    def encode(*columns):
        function = encode_one if len(columns) == 1 else encode_two
        return F.pandas_udf(function, fields)(*columns)

    return encode


def check_training(kind, tokens, min_count):
    """Raises ConfigError for an invalid option of `train`."""
    if kind not in KINDS:
        raise ConfigError(f"Tokenizer.kind must be one of {KINDS}, got {kind!r}")
    for name, value in {"tokens": tokens, "min_count": min_count}.items():
        if not is_integer(value, 1):
            raise ConfigError(f"Tokenizer.{name} must be an integer >= 1, got {brief(value)}")


def check_texts(frame, columns):
    """Raises DataError for a column that is missing or holds no texts, ConfigError for three."""
    if len(columns) not in (1, 2):
        raise ConfigError(f"Tokenizer.column must be one name or a pair, got {columns}")
    for column in columns:
        require_column(column, frame.columns, WHERE)
        kind = frame.schema[column].dataType
        if not isinstance(kind, StringType):
            got = kind.simpleString()
            raise DataError(f"{WHERE}: column {column!r} must hold texts, got {got}")
