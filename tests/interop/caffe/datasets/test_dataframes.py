"""CaffeOnSpark's data layers that read DataFrames."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkdl.data import Compose, Crop, Scale, check_batches
from sparkdl.data.readers.tables.dataframes import DataFrames
from sparkdl.data.readers.tables.frame_columns import Numbers, Pictures
from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.interop.caffe.datasets.sources import source_of
from sparkdl.interop.caffe.graphs.net import load_net
from sparkdl.interop.caffe.messages.prototxt import parse_text
from sparkdl.interop.caffe.messages.schema import NetParameter
from sparkdl.interop.caffe.nets.phases import state_of
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.network import Network
from tests.data.readers.tables.test_dataframes import png
from tests.interop.caffe.nets import path

LOSS = """
layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip'
        inner_product_param { num_output: 3 } }
layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' }
"""
TOPS = """
layer { name: 'd' type: 'CoSData' top: 'data' top: 'label' top: 'more'
  source_class: 'com.yahoo.ml.caffe.DataFrameSource'
  cos_data_param { source: 'frames' batch_size: 4 dataframe_format: 'json'
    top { name: 'picture' type: %s channels: 3 height: 8 width: 9
          transform_param { crop_size: 6 scale: 0.5 } }
    top { name: 'kind' type: STRING channels: 1 height: 1 width: 1 }
    top { name: 'words' type: INT_ARRAY channels: 5 sample_num_axes: 1 %s } } }
"""
IMAGES = """
layer { name: 'd' type: 'MemoryData' top: 'data' top: 'label'
  source_class: 'com.yahoo.ml.caffe.ImageDataFrame' transform_param { scale: 0.5 }
  memory_data_param { source: 'frames' batch_size: 4 channels: 1 height: 8 width: 9 %s } }
"""


def data_of(text):
    net = load_net(parse_text(text + LOSS, NetParameter), state_of("TRAIN"))
    return net, net.data[0]


@pytest.mark.parametrize("kind", ["RAW_IMAGE", "ENCODED_IMAGE", "ENCODED_IMAGE_WITH_DIM"])
def test_the_tops_of_cos_data_are_columns(kind):
    net, data = data_of(TOPS % (kind, ""))
    encoded = kind != "RAW_IMAGE"
    assert net.conf.input_shapes == {"data": (3, 6, 6)}  # after the crop
    assert source_of(data) == DataFrames(
        "frames",
        columns={
            "features": Pictures(name="picture", shape=(3, 8, 9), encoded=encoded),
            "labels": Numbers(name="kind"),
            "more (unread)": Numbers(name="words"),
        },
        format="json",
        transform=Compose(Crop(size=6), Scale(factor=0.5)),
    )


SELECTIONS = {
    "": ("data", "label", "id", {w: w for w in ("channels", "height", "width", "encoded")}),
    "dataframe_column_select: ['picture as data', 'kind label', '`key` AS id', 'height']": (
        "picture",
        "kind",
        "key",
        {"height": "height"},
    ),
}


@pytest.mark.parametrize("select", SELECTIONS)
def test_an_image_data_frame_has_columns_of_its_own(select):
    image, label, key, beside = SELECTIONS[select]
    _, data = data_of(IMAGES % f"image_encoded: true {select}")
    assert source_of(data) == DataFrames(
        "frames",
        columns={
            "features": Pictures(name=image, shape=(1, 8, 9), encoded=True, extra_columns=beside),
            "labels": Numbers(name=label),
        },
        key=key,
        transform=Compose(Scale(factor=0.5)),
    )


BAD = {
    "an expression": (
        IMAGES % "dataframe_column_select: 'abs(height) as height'",
        UnsupportedError,
        r"must select columns, as in 'image as data', got 'abs\(height\) as height'",
    ),
    "no label": (
        IMAGES % "dataframe_column_select: ['data', 'id']",
        ConfigError,
        "must select label by dataframe_column_select",
    ),
    "a format": (
        IMAGES % "dataframe_format: 'orc'",
        UnsupportedError,
        "parquet or json, got 'orc'",
    ),
    "tops that are not said": (
        (TOPS % ("RAW_IMAGE", "")).replace("top: 'more'", ""),
        ConfigError,
        "as many top {} as tops, 2, got 3",
    ),
    "labels that are changed": (
        (TOPS % ("RAW_IMAGE", "")).replace("STRING", "STRING transform_param { scale: 2 }"),
        UnsupportedError,
        "must not have transform_param of labels, got it of 'label'",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_is_refused(name):
    text, error, message = BAD[name]
    with pytest.raises(error, match=f"layer 'd' .*{message}"):
        source_of(data_of(text)[1])


@pytest.mark.slow
def test_a_captioning_net_trains_on_its_data_frame(tmp_path, monkeypatch, rng):
    """Images, words as inputs and words as labels are columns of one DataFrame."""
    images = rng.integers(0, 256, (12, 3, 32, 32)).astype(np.uint8)
    words = rng.integers(0, 100, (12, 10))
    rows = [
        {
            "data": png(image),
            "cont_sentence": [0] + [1] * 9,
            "input_sentence": some.tolist(),
            "target_sentence": some.tolist(),
        }
        for image, some in zip(images, words)
    ]
    (tmp_path / "captions_train").mkdir()
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "captions_train/part-0.parquet")
    monkeypatch.chdir(tmp_path)
    net = load_net(path("captions"), state_of("TRAIN"))
    source = source_of(net.data[0])
    [batch] = [
        batch
        for split in source.splits()
        for batch in check_batches(source.read, split, schema_of(net.conf, True, source.transform))
    ]
    np.testing.assert_array_equal(batch.columns["data"], images)
    np.testing.assert_array_equal(batch.columns["input_sentence"], words)
    history = Network(net.conf).fit(source, epochs=1)
    assert history.epochs[0].examples == 12
