"""A mean image and a crop in one step: only the window is turned into float32."""

from dataclasses import dataclass

from sparkdl.data.transforms.base import Transform
from sparkdl.data.transforms.crop import Crop
from sparkdl.data.transforms.mean_image import MeanImage
from sparkdl.data.transforms.room import room


@dataclass(frozen=True, kw_only=True)
class MeanBelowCrop(Transform):
    """What `mean` and then `crop` give, number by number; Compose puts it in their place."""

    mean: MeanImage
    crop: Crop

    def change(self, x, chance):
        shape, image = self.mean.out_shape(x.shape[1:]), self.mean.image
        y = room((len(x), *self.crop.out_shape(shape)))
        for i, window in enumerate(self.crop.windows(shape, len(x), chance)):
            y[i] = x[i][window]
            y[i] -= image[window]
        return y


def joined(transforms):
    """(place, transform) of all, a MeanImage and the Crop behind it as one at the Crop's place."""
    steps = []
    for place, transform in enumerate(transforms):
        before = steps[-1][1] if steps else None
        pair = isinstance(before, MeanImage) and isinstance(transform, Crop)
        if pair and before.column == transform.column:
            one = MeanBelowCrop(mean=before, crop=transform, column=transform.column)
            steps[-1] = place, one
        else:
            steps.append((place, transform))
    return steps
