"""torch in Spark's own `predict_batch_udf`: a row's figure as a line of JSON.

The process and its executors have torch on their PYTHONPATH.
"""

import io
import json
import os
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from pyspark.ml.functions import predict_batch_udf
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, FloatType

from tests.benchmarks.session import spark_session
from tests.benchmarks.spark.bare_side import EXECUTORS, cold_and_warm, seconds_of

BATCH, PIXELS = 64, 224


def predict_frame(folder, mode):
    """Scores a DataFrame's rows with LeNet, keeping labels; Spark discards the result."""
    with session():
        frame = SparkSession.builder.getOrCreate().read.parquet(f"{folder}/rows.parquet")
        scored = frame.select("label", udf("lenet", mode, numbers, [[784]])("features"))
        return cold_and_warm(lambda: scored.write.format("noop").mode("overwrite").save())


def predict_images(folder, mode):
    """Scores a folder of JPEGs with ResNet-50 into Parquet."""
    with session(), tempfile.TemporaryDirectory() as output:
        spark = SparkSession.builder.getOrCreate()
        files = spark.read.format("binaryFile").load(f"{folder}/images").repartition(4)
        scored = files.select("path", udf("resnet50", mode, decoded)("content").alias("scores"))
        return {"seconds": seconds_of(lambda: scored.write.parquet(f"{output}/scores"))}


def session():
    return spark_session(EXECUTORS, **{"spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"]})


def udf(network, mode, arrays, shapes=None):
    make = partial(make_predict, network, mode, arrays)
    options = {"return_type": ArrayType(FloatType()), "batch_size": BATCH}
    return predict_batch_udf(make, input_tensor_shapes=shapes, **options)


def make_predict(network, mode, arrays):
    """Returns the batch function, created once per process."""
    import torch

    from tests.benchmarks.cpu.torch_networks import NETWORKS

    torch.set_num_threads(1)
    net = NETWORKS[network]().eval()
    layout = torch.channels_last if mode != "eager" else torch.contiguous_format
    net = net.to(memory_format=layout)
    run = torch.compile(net) if mode == "compile" else net

    def predict(column):
        with torch.inference_mode():
            x = torch.from_numpy(arrays(column)).to(memory_format=layout)
            return run(x).numpy()

    return predict


def numbers(column):
    """Returns images (n, 1, 28, 28) from rows of 784 floats."""
    return column.astype(np.float32).reshape(-1, 1, 28, 28)


def decoded(column):
    """Returns images (n, 3, 224, 224) in [0, 1] from compressed ones."""
    return np.stack([decode(content) for content in column])


def decode(content):
    from PIL import Image

    image = Image.open(io.BytesIO(content)).convert("RGB").resize((PIXELS, PIXELS))
    return np.asarray(image, np.float32).transpose(2, 0, 1) / 255


def write_images(folder, count, size=(500, 375)):
    """Writes JPEGs of some kilobytes each into folder/images."""
    from PIL import Image

    path, rng = Path(folder, "images"), np.random.default_rng(0)
    path.mkdir()
    for number in range(count):
        coarse = rng.integers(0, 256, (size[1] // 8, size[0] // 8, 3), dtype=np.uint8)
        Image.fromarray(coarse).resize(size).save(path / f"{number}.jpg", quality=90)


SIDES = {side.__name__: side for side in (predict_frame, predict_images)}

if __name__ == "__main__":
    print(json.dumps(SIDES[sys.argv[1]](*sys.argv[2:])), flush=True)
