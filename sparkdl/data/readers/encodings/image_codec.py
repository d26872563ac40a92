"""Codec between image files and arrays.

PIL is imported on first use, as most sources have no images.
"""

import io
import re
import struct

import numpy as np

from sparkdl.data.batches.columns import Violation
from sparkdl.data.transforms.interpolate import bilinear, round_to

ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
CHANNELS = ("RGB", "BGR", "gray")
EXIF_ORIENTATION = (  # help text for options of this name
    "Whether encoded images are rotated by the orientation in their EXIF data, as OpenCV does. "
    "False: they stay as the camera stored them."
)
GRAYS = ("1", "L", "LA")
ORIENTATION = 0x112  # the Orientation tag of EXIF and TIFF
DEEP = re.compile(r"[IF].*|.*;16[BLN]")  # modes with more than 8 bits per channel, except BGR;16


def decode_image(content, channels=None, size=None, row=0, exif_orientation=False):
    """Decodes a JPEG, PNG, BMP ... file into uint8 (C, H, W).

    Parameters
    ----------
    channels : "RGB", "BGR", "gray" or None
        None: gray if the file is gray, else RGB.
    size : (height, width) or None
        The image is resized bilinearly to it, as by `Resize`.
    row : int
        Row of the record, for errors.
    exif_orientation : bool
        Whether to rotate the image according to its EXIF orientation before resizing. PIL rotates
        TIFF files in any case.

    Raises
    ------
    Violation
        If the bytes are not an image, truncated, or have more than 8 bits per channel.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(content)) as image:
            x = _array(image, channels, row)
            if exif_orientation:  # read after loading: PIL has by then rotated a TIFF
                x = np.ascontiguousarray(turn(x, orientation_of(image)))
            return resize_image(x, size)
    except UnidentifiedImageError:
        raise Violation(row, f"must be an image, got {bytes(content[:8])!r}") from None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise Violation(row, f"image cannot be decoded: {error}") from None


def orientation_of(image):
    """Returns the EXIF orientation of a PIL image; 1 if there is none or it is unreadable."""
    try:
        return image.getexif().get(ORIENTATION, 1)
    except (LookupError, OSError, SyntaxError, TypeError, ValueError, struct.error):
        return 1


def turn(x, orientation):
    """Returns an image (C, H, W) upright, given the EXIF orientation, 1 to 8, of its pixels.

    References
    ----------
    CIPA DC-008, Exif 2.32 (2019), tag Orientation.
    """
    if orientation in (5, 6, 7, 8):
        x = x.swapaxes(1, 2)
    rows = -1 if orientation in (3, 4, 7, 8) else 1
    columns = -1 if orientation in (2, 3, 6, 7) else 1
    return x[:, ::rows, ::columns]


def encode_image(x, kind="PNG"):
    """Encodes uint8 (C, H, W) as an image file; 1 channel is gray, 3 are RGB."""
    from PIL import Image

    content = io.BytesIO()
    image = x[0] if len(x) == 1 else np.ascontiguousarray(x.transpose(1, 2, 0))
    Image.fromarray(image).save(content, kind)
    return content.getvalue()


def resize_image(x, size):
    """Resizes uint8 (C, H, W) to `size`, if given."""
    if size is None or x.shape[1:] == tuple(size):
        return x
    return round_to(bilinear(x, (0, 0, *x.shape[1:]), size), x.dtype)


def _array(image, channels, row):
    if deep := next((mode for mode in _modes(image) if DEEP.fullmatch(mode)), None):
        raise Violation(row, f"image must have 8 bits a channel, got mode {deep}")
    gray = channels == "gray" or (channels is None and image.mode in GRAYS)
    x = np.asarray(image.convert("L" if gray else "RGB"))
    if gray:
        return x[np.newaxis]
    x = x[..., ::-1] if channels == "BGR" else x
    return np.ascontiguousarray(x.transpose(2, 0, 1))


def _modes(image):
    """Yields the mode of a PIL image, and its modes in the file, as PIL reduces RGB;16B to RGB.

    A PPM file states its largest value instead of a mode.
    """
    yield image.mode
    for *_, said in image.tile:
        mode, *numbers = said if isinstance(said, tuple) else (said,)
        yield f"{mode};16B" if image.format == "PPM" and numbers[:1] > [255] else str(mode)
