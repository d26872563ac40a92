"""Reader of text as sequences of characters, labelled with the next characters."""

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from sparkdl.cached_value import cached_value
from sparkdl.config import (
    Boolean,
    Either,
    Integer,
    Nested,
    Number,
    Path,
    Sequence,
    dataclass,
    option,
)
from sparkdl.config.field_types import PathName
from sparkdl.data import files
from sparkdl.data.batches.batch import Batch, record_ids
from sparkdl.data.readers.core.base import SplitByRecords, StoredSource
from sparkdl.data.readers.core.file_ranges import open_listed
from sparkdl.data.readers.text_files.characters import Characters
from sparkdl.data.source import Split, split_bounds
from sparkdl.data.transforms import OneHot
from sparkdl.errors import DataError, require

LONGEST = 4  # longest UTF-8 encoding of a character, in bytes
STRIDES_PER_BLOCK = 256


@dataclass(frozen=True, kw_only=True)
class ByteRange(Split):
    """The sequences that begin in bytes `first` to `stop` (exclusive) of a file.

    The text of all sequences is in bytes `begin` to `end` (exclusive).
    """

    path: str
    first: int
    stop: int
    begin: int
    end: int

    def __str__(self) -> str:
        return f"{self.path}, bytes {self.first} to {self.stop}"

    def spans(self) -> list[tuple[str, int, int | None]]:
        return [(self.path, self.first, self.stop)]


@dataclass(frozen=True, kw_only=True)
class TextSequences(StoredSource, SplitByRecords, name="Text"):
    """A text file as sequences of characters; the label of a step is the next character.

    One extra sequence ends at the end of the text, so all characters are used, some twice, unless
    `stride` skips some. Executors read their own parts of the file, but the sequences do not depend
    on the parts. As no executor reads the whole file, the count of characters restarts every 256 *
    stride bytes: with characters of several bytes, the sequence before such a place may begin
    nearer to the next one.
    """

    path: PathName = option(
        Path(), "A file in UTF-8, local or a URI; the same on every machine.", kw_only=False
    )
    characters: Characters | str | None = option(
        Either(of=(Nested(of=Characters), Path())),
        "The alphabet, or the path of one that Characters.save wrote. None: the characters of the "
        "file.",
        default=None,
        kw_only=False,
    )
    steps: int = option(Integer(minimum=1), "Characters of a sequence.", default=50)
    stride: int | None = option(
        Integer(minimum=1),
        "Characters from the start of one sequence to that of the next; None: `steps`.",
        default=None,
    )
    part: tuple[float, float] = option(
        Sequence(of=Number(minimum=0, maximum=1), length=2),
        "Begin and end: (0, 0.9) to train on and (0.9, 1) to validate.",
        default=(0.0, 1.0),
    )
    one_hot: bool = option(
        Boolean(),
        "Whether features are one-hot vectors (steps, characters), made in the worker; otherwise "
        "they are integers, (steps,) or (steps, 1), as EmbeddingSequence takes them.",
        default=True,
    )

    def validate(self) -> None:
        super().validate()
        start, stop = self.part
        require(self, "part", start < stop, "two shares in [0, 1], the smaller first")

    def __getstate__(self):
        """Returns the fields and the alphabet, so that executors need not look for it."""
        return self.__dict__ | {"alphabet": self.alphabet}

    @property
    def paths(self) -> Collection[str]:  # type: ignore[override]
        return (self.path, self.characters) if isinstance(self.characters, str) else (self.path,)

    @cached_value
    def alphabet(self) -> Characters:
        """The given or saved Characters, or those of the file; read when first needed."""
        if self.characters is None:
            return Characters.of_file(self.path)
        if isinstance(self.characters, str):
            return Characters.load(self.characters)
        return self.characters

    @property
    def transform(self) -> Any:
        """OneHot, or None."""
        return OneHot(classes=len(self.alphabet)) if self.one_hot else None

    def identity(self) -> Any:
        """Returns what Source.identity does; a source keeps the alphabet that it once found."""
        found = super().identity()
        return None if found is None else (*found, self.alphabet)

    def splits(self) -> list[Split]:
        """Returns ranges of bytes. Reads only the size of the file."""
        total = files.size(self.path)
        first, stop = (int(total * share) for share in self.part)
        bounds = self._bounds(stop - first)
        return [
            ByteRange(
                partition=i,
                count=None,
                path=files.absolute(self.path),
                first=first + start,
                stop=first + end,
                begin=first,
                end=stop,
            )
            for i, (start, end) in enumerate(bounds)
        ]

    def read(self, split: Any) -> Iterator[Batch]:
        """Yields one batch: features (n, steps) numbers of characters, labels (n, steps) int32."""
        origin = split.first - (split.first - split.begin) % self._block()
        reach = min(split.stop + LONGEST * (self.steps + 1), split.end)
        text, begins = characters_between(split, origin, reach)
        is_whole = (split.first, split.stop) == (split.begin, split.end)
        if is_whole and len(text) <= self.steps:
            raise DataError(f"{split}: needs over {self.steps} characters, got {len(text)}")
        starts = self._starts(split, begins, is_last=reach == split.end)
        if not len(starts):
            return
        before = np.searchsorted(begins, split.first)
        try:
            codes = self.alphabet.encode(text[before:])
        except DataError as error:
            raise DataError(f"{split}: {error}") from None
        windows = np.lib.stride_tricks.sliding_window_view(codes, self.steps + 1)
        chosen = windows[starts - before]
        columns = {"features": chosen[:, :-1].copy(), "labels": chosen[:, 1:].astype(np.int32)}
        yield Batch(columns=columns, ids=record_ids(split.partition, 0, len(starts)))

    def _starts(self, split, begins, is_last):
        """Returns the indices of the characters at which a split's sequences begin.

        Parameters
        ----------
        begins : int array (n,)
            Byte offsets of the characters, from the start of a block on.
        is_last : bool
            Whether the text ends after them.
        """
        blocks = (begins - split.begin) // self._block()
        counted = np.arange(len(begins)) - np.searchsorted(blocks, blocks)
        final = len(begins) - self.steps - 1
        starts = np.flatnonzero(counted % self._stride() == 0)
        starts = starts[starts <= final]
        if is_last and final >= 0:
            starts = np.union1d(starts, final)
        return starts[(begins[starts] >= split.first) & (begins[starts] < split.stop)]

    def _stride(self):
        return self.stride or self.steps

    def _block(self):
        """Returns the number of bytes after which the count of characters restarts."""
        return STRIDES_PER_BLOCK * self._stride()

    def _bounds(self, size):
        """Returns byte ranges (start, stop), none too short for a sequence."""
        stride = self._stride()
        records = max(1, size // stride)
        bounds = split_bounds(records, self.records_per_split)
        shortest = LONGEST * max(self.steps + 1, stride)
        cuts = [start * stride for start, _ in bounds[1:]]
        pieces, before = [], 0
        for cut in cuts:
            if cut - before >= shortest and size - cut >= shortest:
                pieces.append(cut)
                before = cut
        return list(zip([0, *pieces], [*pieces, size], strict=True))


def characters_between(split, start, stop):
    """Returns the characters that begin in bytes [start, stop), and their byte offsets (n,).

    Raises
    ------
    DataError
        If the bytes are not UTF-8.
    """
    with open_listed(split, split.end) as file:
        file.seek(start)
        content = file.read(stop - start + LONGEST)
    begins = np.flatnonzero(np.frombuffer(content, np.uint8) & 0xC0 != 0x80)
    count = np.searchsorted(begins, stop - start)
    first = min([*begins[:1], LONGEST - 1])  # skips the rest of a character before `start`
    end = begins[count] if count < len(begins) else len(content)
    try:
        return content[first:end].decode(), begins[:count] + start
    except UnicodeDecodeError as error:
        raise DataError(f"{split}: must be UTF-8: {error}") from None
