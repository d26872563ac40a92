"""Image files' bytes to arrays and back.

PIL is imported when there is one to decode: most sources hold none.
"""

import io

import numpy as np

from sparkdl.data.batches.columns import Violation
from sparkdl.data.transforms.interpolate import bilinear, round_to

ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
CHANNELS = ("RGB", "BGR", "gray")
GRAYS = ("1", "L", "LA")
DEEP = ("I", "F")  # with these begin the modes of more than 8 bits a channel


def decode_image(content, channels=None, size=None, row=0):
    """Returns uint8 (C, H, W) from the bytes of a JPEG, PNG, BMP ... file.

    Parameters
    ----------
    channels : "RGB", "BGR", "gray" or None
        None: one channel where the file has one, else RGB.
    size : (height, width) or None
        Resized bilinearly to it, as `Resize` does.
    row : int
        Of the record, for the error.

    Raises
    ------
    Violation
        They are not those of an image, or cut short, or of more than 8 bits a channel.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(content)) as image:
            return resize_image(_array(image, channels, row), size)
    except UnidentifiedImageError:
        raise Violation(row, f"must be an image, got {bytes(content[:8])!r}") from None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise Violation(row, f"image cannot be decoded: {error}") from None


def encode_image(x, kind="PNG"):
    """Encodes uint8 (C, H, W) as an image file: 1 channel is gray, 3 are RGB."""
    from PIL import Image

    content = io.BytesIO()
    image = x[0] if len(x) == 1 else np.ascontiguousarray(x.transpose(1, 2, 0))
    Image.fromarray(image).save(content, kind)
    return content.getvalue()


def resize_image(x, size):
    """Returns uint8 (C, H, W) at another size, if one is given."""
    if size is None or x.shape[1:] == tuple(size):
        return x
    return round_to(bilinear(x, (0, 0, *x.shape[1:]), size), x.dtype)


def _array(image, channels, row):
    if image.mode.startswith(DEEP):
        raise Violation(row, f"image must have 8 bits a channel, got mode {image.mode}")
    gray = channels == "gray" or (channels is None and image.mode in GRAYS)
    x = np.asarray(image.convert("L" if gray else "RGB"))
    if gray:
        return x[np.newaxis]
    x = x[..., ::-1] if channels == "BGR" else x
    return np.ascontiguousarray(x.transpose(2, 0, 1))
