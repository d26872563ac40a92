"""Conversion of DataFrame columns to arrays: numbers, also as text, and images."""

import base64
import binascii
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sparkdl.config import Boolean, Choice, Mapping, Member, Sequence, Size, Text, dataclass, option
from sparkdl.data.batches.columns import Violation, parse_number
from sparkdl.data.readers.core.chunks import stack_arrays
from sparkdl.data.readers.encodings.arrow_columns import to_array
from sparkdl.data.readers.encodings.image_codec import (
    EXIF_ORIENTATION,
    decode_image,
    resize_image,
)
from sparkdl.errors import require

EXTRA_COLUMNS = ("channels", "height", "width", "encoded")
IMAGE = "image"  # the struct field of an image that comes with its size


@dataclass(frozen=True, kw_only=True)
class FrameColumn(Member):
    """A column of a DataFrame and the kind of its values."""

    name: str = option(Text(what="a name"), "Name of the column.")

    if TYPE_CHECKING:  # common to all kinds of columns

        @property
        def names(self) -> Collection[str]: ...

        @property
        def nbytes(self) -> int | None: ...

        def array(self, table: Any) -> np.ndarray: ...


@dataclass(frozen=True, kw_only=True)
class Numbers(FrameColumn):
    """Numbers, lists of them, vectors, or texts with a number each."""

    @property
    def names(self) -> Collection[str]:
        """Columns that are read, as far as they are there; the first must be."""
        return [self.name]

    @property
    def nbytes(self) -> int | None:
        """The bytes of one record in a batch; None if unknown."""
        return 0

    def array(self, table: Any) -> np.ndarray:
        """Returns (n, ...) of an Arrow table or record batch. Raises Violation."""
        column = table.column(self.name)
        if pa.types.is_dictionary(column.type):  # as pandas writes categories
            column = column.cast(column.type.value_type)
        if is_text(column):
            return np.array([number(row, text) for row, text in enumerate(column.to_pylist())])
        return to_array(column)


@dataclass(frozen=True, kw_only=True)
class Pictures(FrameColumn):
    """Images as binary (in JSON as Spark writes it, in base 64), or in a struct's field "image"."""

    shape: tuple[int, int, int] | None = option(
        Sequence(of=Size(minimum=1), length=3),
        "(C, H, W) to which images are converted: gray for one channel, else BGR, resized "
        "bilinearly. For images that are not encoded, their shape. None: images are encoded and "
        "keep their size.",
        default=None,
    )
    encoded: bool = option(
        Boolean(),
        "Whether images are encoded (JPEG, PNG ...) rather than plain uint8 (C, H, W).",
        default=True,
    )
    exif_orientation: bool = option(Boolean(), EXIF_ORIENTATION, default=False)
    extra_columns: dict[str, str] = option(
        Mapping(keys=Choice(of=EXTRA_COLUMNS), values=Text(what="a name")),
        "Columns with the values of each record, if the DataFrame has them.",
        factory=dict,
    )

    def validate(self) -> None:
        super().validate()
        require(self, "shape", self.shape or self.encoded, "given for images that are not encoded")
        encoded = self.encoded or "encoded" in self.extra_columns
        sound = encoded or not self.exif_orientation
        require(self, "exif_orientation", sound, "False for images that are not encoded")

    @property
    def names(self) -> Collection[str]:
        return [self.name, *self.extra_columns.values()]

    @property
    def nbytes(self) -> int | None:
        return None if self.shape is None else int(np.prod(self.shape))

    def array(self, table: Any) -> np.ndarray:
        in_table = table.schema.names
        extra = {
            key: table.column(name) for key, name in self.extra_columns.items() if name in in_table
        }
        column = table.column(self.name)
        if is_binary(column) and not (extra or self.encoded):
            return to_array(column)  # all have one length; the schema knows their shape
        attributes = {key: to_array(values) for key, values in extra.items()}
        contents = enumerate(map(as_bytes, range(table.num_rows), column.to_pylist()))
        return stack_arrays(
            [self._image(row, content, attributes) for row, content in contents], "images"
        )

    def _image(self, row, content, attributes):
        channels, *size = self.shape or (3, None)
        if attributes["encoded"][row] if "encoded" in attributes else self.encoded:
            kind = "gray" if channels == 1 else "BGR"
            size = size if self.shape else None
            return decode_image(content, kind, size, row, self.exif_orientation)
        sizes = zip(("channels", "height", "width"), self.shape, strict=True)
        shape = tuple(
            int(attributes[key][row]) if key in attributes else size for key, size in sizes
        )
        if len(content) != np.prod(shape):
            text = f"must have {np.prod(shape)} bytes, as its shape {shape} says"
            raise Violation(row, f"{text}, got {len(content)}")
        return resize_image(np.frombuffer(content, np.uint8).reshape(shape), size)


def is_text(column):
    return pa.types.is_string(column.type) or pa.types.is_large_string(column.type)


def is_binary(column):
    return pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)


def number(row, text):
    """Parses the number in a text. Raises Violation."""
    try:
        return parse_number(text)
    except (TypeError, ValueError):
        raise Violation(row, f"must hold a number, got {text!r:.80}") from None


def as_bytes(row, value):
    """Returns the bytes of a binary, a list of bytes, a base64 text, or the image in a struct."""
    value = value.get(IMAGE) if isinstance(value, dict) else value
    if isinstance(value, bytes):
        return value
    try:
        if isinstance(value, str):
            return base64.b64decode(value, validate=True)
        if all(isinstance(one, int) and -128 <= one < 256 for one in value):
            return bytes(one % 256 for one in value)  # Java's bytes are signed
    except (binascii.Error, TypeError):
        pass
    raise Violation(row, f"must hold an image's bytes, got {value!r:.80}")
