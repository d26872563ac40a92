"""Bases of the readers: a path, a transform for minibatches, splits by records or by bytes."""

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from sparkdl.config import (
    Boolean,
    Choice,
    Integer,
    Number,
    Path,
    Sizes,
    dataclass,
    option,
)
from sparkdl.config.field_types import Coerced, OptionalTwoSizes, PathName, Shorthand
from sparkdl.data import files
from sparkdl.data.batches.batch import Batch
from sparkdl.data.file_stamps import stamp_files
from sparkdl.data.readers.encodings.image_codec import CHANNELS, EXIF_ORIENTATION
from sparkdl.data.source import Source, is_own_class
from sparkdl.data.transforms import Scale, Transform, in_order
from sparkdl.data.transforms.compose import SEVERAL, TransformRequirement
from sparkdl.data.transforms.scale import NotZero, PerChannel
from sparkdl.errors import ConfigError, DataError, require

BatchTransform: TypeAlias = Callable[[Batch], Batch]

SHORTHANDS = {
    "transforms": SEVERAL,
    "scale": NotZero(),
    "mean": PerChannel(of=Number()),
}


@dataclass(frozen=True, kw_only=True)
class Reader(Source, abstract=True):
    """A source with a user-defined transform of its minibatches."""

    shorthands: ClassVar[tuple[str, ...]] = tuple(SHORTHANDS)
    usual_scale: ClassVar[float] = 1.0  # default scale when only transforms or mean are given

    if TYPE_CHECKING:  # shorthands that `expand_shorthands` accepts
        transforms: Shorthand[Iterable[Transform | str | dict]] = option(SEVERAL, "", default=())
        scale: Shorthand[float] = option(NotZero(), "", default=1.0)
        mean: Shorthand[float | Iterable[float]] = option(SEVERAL, "", default=())

    transform: Coerced[BatchTransform | None, BatchTransform | Iterable[Any] | str | None] = option(
        TransformRequirement(),
        "Transform of each minibatch. Instead, `transforms` takes a list, and `scale` and `mean` "
        "turn features into (x - mean) * scale.",
        default=None,
    )

    @classmethod
    def expand_shorthands(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Returns the options with `transforms`, `scale` and `mean` combined into `transform`."""
        words = [name for name in SHORTHANDS if name in options]
        if not words:
            return options
        if "transform" in options:
            raise ConfigError(f"{cls.__name__} takes either transform or {' and '.join(words)}")
        given = {n: SHORTHANDS[n].check(options[n], f"{cls.__name__}.{n}") for n in words}
        scale = Scale(factor=given.get("scale", cls.usual_scale), mean=given.get("mean", ()))
        rest = {name: value for name, value in options.items() if name not in words}
        return rest | {"transform": in_order(given.get("transforms", ()), scale)}


@dataclass(frozen=True, kw_only=True)
class StoredSource(Source, abstract=True):
    """A source of data stored at a path."""

    path: PathName = option(
        Path(), "A file or folder, local or a URI; the same on every machine.", kw_only=False
    )

    @property
    def paths(self) -> Collection[str]:  # type: ignore[override]
        """All paths that must exist."""
        return (self.path,)

    def check(self) -> None:
        for path in self.paths:
            if not files.exists(path):
                raise DataError(f"{path}: there is no such file or folder")

    def identity(self) -> Any:
        """Returns the class, its options, and the stamps of all files; see Source.identity."""
        if not is_own_class(self):
            return None
        files.forget_listings(self.paths)
        stamps = stamp_files(self.stamped_paths(), self.may_be_mapped)
        return None if stamps is None else (type(self), self.read_options(), stamps)

    def stamped_paths(self) -> Collection[str]:
        """Returns the files or folders that records come from."""
        return self.paths


@dataclass(frozen=True, kw_only=True)
class SplitByRecords(Source, abstract=True):
    """A source whose splits have a fixed number of records."""

    may_be_mapped: ClassVar[bool] = True

    records_per_split: int | None = option(
        Integer(minimum=1),
        "Records of a split. None: 256, or more if that would give over 4,096 splits.",
        default=None,
    )


@dataclass(frozen=True, kw_only=True)
class SplitByBytes(Source, abstract=True):
    """A source whose splits are byte ranges."""

    bytes_per_split: int | None = option(
        Integer(minimum=1),
        "Size of a split. None: 1 MiB, or more if that would give over 4,096 splits.",
        default=None,
        unit="bytes",
    )


@dataclass(frozen=True, kw_only=True)
class ImageSource(Source, abstract=True):
    """A source of encoded images."""

    may_be_mapped: ClassVar[bool] = False

    channels: str = option(
        Choice(of=CHANNELS),
        'Channels of decoded images: "RGB", "BGR" (as Caffe has them) or "gray".',
        default="RGB",
    )
    size: OptionalTwoSizes = option(
        Sizes(axes=2, spread=True),
        "Height and width to which images are resized, bilinearly. None: all images must have "
        "one size.",
        default=None,
    )
    exif_orientation: bool = option(Boolean(), EXIF_ORIENTATION, default=False)


@dataclass(frozen=True, kw_only=True)
class NumberOrImageSource(ImageSource, abstract=True):
    """A source of named values, whose features may be encoded images."""

    content: str = option(
        Choice(of=("numbers", "images")),
        '"images" where `features` are encoded (JPEG, PNG ...).',
        default="numbers",
    )

    def validate(self) -> None:
        super().validate()
        sized = self.size is None or self.content == "images"
        require(self, "size", sized, "None where content is numbers")
        upright = not self.exif_orientation or self.content == "images"
        require(self, "exif_orientation", upright, "False where content is numbers")
