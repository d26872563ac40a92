"""Rows for sequences as images of one row."""

from sparkdl.engine import ops
from tests.engine.cases.case import Case
from tests.engine.support import uniform

CASES = {
    "SequenceToImage": Case(
        ops.sequence_to_image, (uniform(36, 2, 5, 3),), lambda x: x.swapaxes(1, 2)[:, :, None]
    ),
    "ImageToSequence": Case(
        ops.image_to_sequence, (uniform(37, 2, 3, 1, 5),), lambda x: x[:, :, 0].swapaxes(1, 2)
    ),
}
