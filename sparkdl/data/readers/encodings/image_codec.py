"""Image files' bytes to arrays and back.

PIL is imported when there is one to decode: most sources hold none.
"""

import io
import re
import struct

import numpy as np

from sparkdl.data.batches.columns import Violation
from sparkdl.data.transforms.interpolate import bilinear, round_to

ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
CHANNELS = ("RGB", "BGR", "gray")
EXIF_ORIENTATION = (  # what an option of this name does
    "Whether encoded images are rotated by the orientation in their EXIF data, as OpenCV does. "
    "False: they stay as the camera stored them."
)
GRAYS = ("1", "L", "LA")
ORIENTATION = 0x112  # the tag of EXIF and of TIFF
DEEP = re.compile(r"[IF].*|.*;16[BLN]")  # modes of more than 8 bits a channel, but not BGR;16


def decode_image(content, channels=None, size=None, row=0, exif_orientation=False):
    """Returns uint8 (C, H, W) from the bytes of a JPEG, PNG, BMP ... file.

    Parameters
    ----------
    channels : "RGB", "BGR", "gray" or None
        None: one channel where the file has one, else RGB.
    size : (height, width) or None
        Resized bilinearly to it, as `Resize` does.
    row : int
        Of the record, for the error.
    exif_orientation : bool
        Whether it is turned as the orientation in its EXIF says, before it is resized. A TIFF file
        is turned in any case, by PIL.

    Raises
    ------
    Violation
        They are not those of an image, or cut short, or of more than 8 bits a channel.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(content)) as image:
            x = _array(image, channels, row)
            if exif_orientation:  # asked for when the image is loaded: PIL has turned a TIFF then
                x = np.ascontiguousarray(turn(x, orientation_of(image)))
            return resize_image(x, size)
    except UnidentifiedImageError:
        raise Violation(row, f"must be an image, got {bytes(content[:8])!r}") from None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise Violation(row, f"image cannot be decoded: {error}") from None


def orientation_of(image):
    """Returns the orientation in the EXIF of PIL's image; 1 where there is none to be read."""
    try:
        return image.getexif().get(ORIENTATION, 1)
    except (LookupError, OSError, SyntaxError, TypeError, ValueError, struct.error):
        return 1


def turn(x, orientation):
    """Returns an image (C, H, W) upright that a camera has stored in an orientation, 1 to 8.

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
    if deep := next((mode for mode in _modes(image) if DEEP.fullmatch(mode)), None):
        raise Violation(row, f"image must have 8 bits a channel, got mode {deep}")
    gray = channels == "gray" or (channels is None and image.mode in GRAYS)
    x = np.asarray(image.convert("L" if gray else "RGB"))
    if gray:
        return x[np.newaxis]
    x = x[..., ::-1] if channels == "BGR" else x
    return np.ascontiguousarray(x.transpose(2, 0, 1))


def _modes(image):
    """Yields the mode of PIL's image, and those in which the file has it: PIL cuts RGB;16B to RGB.

    A PPM says its largest number in place of that.
    """
    yield image.mode
    for *_, said in image.tile:
        mode, *numbers = said if isinstance(said, tuple) else (said,)
        yield f"{mode};16B" if image.format == "PPM" and numbers[:1] > [255] else str(mode)
