"""Hadoop reads our SequenceFiles and we read Hadoop's, including the keys of CaffeOnSpark."""

import numpy as np
import pytest

from sparkdl.data import SequenceFiles, write_sequence_file
from sparkdl.data.readers.encodings.image_codec import encode_image
from sparkdl.data.readers.sequence_file import writer
from tests.data.sources import read

X = np.random.default_rng(5).integers(0, 256, (2000, 1, 12, 10)).astype(np.uint8)
Y = np.arange(2000) * 11 % 1000
TYPE = "mapreduce.output.fileoutputformat.compress"
OUTPUT = "org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat"
IO = "org.apache.hadoop.io"
COMPRESSIONS = [
    {"compression": "none"},
    {"compression": "record", "codec": "DefaultCodec"},
    {"compression": "record", "codec": "BZip2Codec"},
    {"compression": "block", "codec": "GzipCodec"},
    {"compression": "block", "codec": "DefaultCodec"},
]


@pytest.mark.parametrize("options", COMPRESSIONS, ids=str)
def test_hadoop_reads_what_we_write(sc, tmp_path, monkeypatch, options):
    monkeypatch.setattr(writer, "BLOCK", 50_000)
    pairs = [(f"a {y}", x.tobytes()) for x, y in zip(X, Y)]
    write_sequence_file(tmp_path / "a", pairs, **options)
    found = sc.sequenceFile(str(tmp_path / "a"), minSplits=3).collect()
    assert [(key, bytes(value)) for key, value in found] == pairs


@pytest.mark.parametrize("options", COMPRESSIONS, ids=str)
def test_we_read_what_hadoop_writes(sc, tmp_path, options):
    conf = {TYPE: "false"}
    if "codec" in options:
        kind = options["compression"].upper()
        codec = f"{IO}.compress.{options['codec']}"
        conf = {TYPE: "true", f"{TYPE}.type": kind, f"{TYPE}.codec": codec}
    if options.get("codec") == "GzipCodec" and hadoop_version(sc) < (3, 4):
        pytest.skip("before Hadoop 3.4 gzip needs its native library in SequenceFiles")
    pairs = sc.parallelize([(int(y), bytearray(x.tobytes())) for x, y in zip(X, Y)], 2)
    kinds = {"keyClass": f"{IO}.IntWritable", "valueClass": f"{IO}.BytesWritable"}
    pairs.saveAsNewAPIHadoopFile(str(tmp_path / "a"), OUTPUT, conf=conf, **kinds)
    source = SequenceFiles(str(tmp_path / "a"), content="bytes", bytes_per_split=20_000)
    batch = read(source)
    np.testing.assert_array_equal(batch.features, X.reshape(2000, 120))
    np.testing.assert_array_equal(batch.labels, Y)


def hadoop_version(sc):
    text = sc._jvm.org.apache.hadoop.util.VersionInfo.getVersion()
    return tuple(map(int, text.split(".")[:2]))


def serialized(sc, java):
    """Returns the bytes that ObjectOutputStream writes for a Java object."""
    content = sc._jvm.java.io.ByteArrayOutputStream()
    sc._jvm.java.io.ObjectOutputStream(content).writeObject(java)
    return bytes(content.toByteArray())


def test_keys_of_caffe_on_spark(sc, tmp_path):
    image, plain = encode_image(X[0]), X[1].tobytes()
    pair = sc._jvm.scala.Tuple2("cat.jpg", "7")
    six = sc._jvm.scala.Tuple6("00000001", "5", 1, 12, 10, False)
    entry = sc._jvm.java.util.AbstractMap.SimpleImmutableEntry("a", "9")
    records = zip([pair, six, entry], [image, plain, image])
    pairs = [(serialized(sc, key), value) for key, value in records]
    write_sequence_file(tmp_path / "a", pairs, key="BytesWritable")
    batch = read(SequenceFiles(str(tmp_path / "a"), channels="gray"))
    np.testing.assert_array_equal(batch.features, X[[0, 1, 0]])
    np.testing.assert_array_equal(batch.labels, [7, 5, 9])
