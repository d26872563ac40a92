"""The mean image of the records that `sparkdl convert` reads, and its file."""

import io

import numpy as np

from sparkdl.commands.options.output_paths import check_outside
from sparkdl.data import files
from sparkdl.errors import ConfigError, DataError
from sparkdl.interop.caffe.messages import blobs

OF_CAFFE = ".binaryproto"


class ImageMean:
    """Mean of images, accumulated batch by batch, for a file.

    Parameters
    ----------
    path : str
        Caffe's .binaryproto, or a .npy file for MeanImage(path=...).
    output : str or None
        Folder of the records; the file must be outside of it.

    Raises
    ------
    ConfigError, DataError
        If there cannot be such a file.
    """

    def __init__(self, path, output=None):
        files.check_file(path)
        if output is not None:
            check_outside("--mean", path, output, "the folder of the records")
        files.check_free(path, ConfigError)
        self.path, self.total = path, None

    def add(self, x, where):
        """Adds images (n, ...); raises DataError if the file cannot hold their shape."""
        shape = x.shape[1:]
        if self.path.endswith(OF_CAFFE) and len(shape) != 3:
            text = f"a {OF_CAFFE} holds images (C, H, W), got {shape}; give --shape"
            raise DataError(f"{self.path}: {text}")
        if self.total is not None and self.total.shape != shape:
            raise DataError(f"{where}: images must have the shape {self.total.shape}, got {shape}")
        part = x.sum(axis=0, dtype=np.float64)
        self.total = part if self.total is None else self.total + part

    def write(self, count):
        """Writes the mean of all `count` images as float32, atomically."""
        if count == 0:
            raise DataError(f"{self.path}: there are no images to average")
        image = (self.total / count).astype(np.float32)
        if self.path.endswith(OF_CAFFE):
            return blobs.write_mean(self.path, image)
        content = io.BytesIO()
        np.save(content, image)
        files.write(self.path, content.getvalue())
