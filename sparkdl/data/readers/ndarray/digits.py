"""Source of the digit images in the package."""

from typing import ClassVar

from sparkdl.config import Choice, Integer, dataclass, option
from sparkdl.data.readers.core.base import Reader, SplitByRecords
from sparkdl.data.readers.ndarray.arrays import Arrays
from sparkdl.data.samples.digits import PARTS, digits
from sparkdl.data.source import Split
from sparkdl.data.transforms import Scale, Transform

SCALED = Scale(factor=1 / 255)


@dataclass(frozen=True, kw_only=True)
class Digits(Reader, SplitByRecords):
    """The sample of handwritten digits inside the package: images (1, 28, 28), scaled to [0, 1]."""

    usual_scale: ClassVar[float] = SCALED.factor

    part: str = option(
        Choice(of=tuple(PARTS)), '"train", 8,000 digits, or "test", 2,000 others.', default="train"
    )
    records: int | None = option(
        Integer(minimum=1), "Number of records to take, from the first on.", default=None
    )
    transform: Transform | None = SCALED

    def splits(self) -> list[Split]:
        """Returns a split for each slice, with the digits themselves."""
        chosen = digits(self.part).take(slice(0, self.records))
        return Arrays.of(chosen, records_per_split=self.records_per_split).splits()

    read = staticmethod(Arrays.read)
