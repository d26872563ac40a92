"""Files of Avro's Java writer, which Hadoop and Spark use, are readable."""

import numpy as np
import pytest

from sparkdl.data import AvroFiles, Batch

SCHEMA = """{"type": "record", "name": "example", "fields": [
    {"name": "image", "type": "bytes"}, {"name": "label", "type": ["null", "int"]}]}"""


@pytest.mark.parametrize("codec", ["snappy", "deflate", "zstandard"])
def test_files_of_the_java_writer(sc, tmp_path, codec):
    avro, java = sc._jvm.org.apache.avro, sc._jvm.java
    schema = avro.Schema.Parser().parse(SCHEMA)
    writer = avro.file.DataFileWriter(avro.generic.GenericDatumWriter(schema))
    writer.setCodec(avro.file.CodecFactory.fromString(codec)).setSyncInterval(200)
    writer.create(schema, java.io.File(str(tmp_path / "a.avro")))
    rows = np.random.default_rng(2).integers(0, 256, (50, 20)).astype(np.uint8)
    for i, row in enumerate(rows):
        record = avro.generic.GenericData.Record(schema)
        record.put("image", java.nio.ByteBuffer.wrap(row.tobytes()))
        record.put("label", i)
        writer.append(record)
    writer.close()
    source = AvroFiles(str(tmp_path / "a.avro"), features="image", bytes_per_split=150)
    batch = Batch.concat([one for split in source.splits() for one in source.read(split)])
    np.testing.assert_array_equal(batch.features, rows)
    np.testing.assert_array_equal(batch.labels, np.arange(50))
