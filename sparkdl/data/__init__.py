"""Data: readers that turn storage into Batches, with schemas, transforms and prefetching."""

from sparkdl.lazy_names import homes, lazy_names

READERS = {
    "sparkdl.data.readers.avro.avro_files": "AvroFiles",
    "sparkdl.data.readers.images": "Images",
    "sparkdl.data.readers.lmdb_files.databases": "LMDB",
    "sparkdl.data.readers.ndarray.arrays": "Arrays",
    "sparkdl.data.readers.ndarray.digits": "Digits",
    "sparkdl.data.readers.ndarray.fixed_records": "Cifar Idx",
    "sparkdl.data.readers.ndarray.hdf5": "HDF5",
    "sparkdl.data.readers.sequence_file.sequence_files": "SequenceFiles",
    "sparkdl.data.readers.tables.dataframes": "DataFrames",
    "sparkdl.data.readers.tables.parquet": "Parquet",
    "sparkdl.data.readers.text_files.csv_files": "Csv",
    "sparkdl.data.readers.text_files.text_sequences": "TextSequences",
    "sparkdl.data.readers.tfrecords": "TFRecords",
}
BESIDE = {
    "sparkdl.data.batches.batch": "Batch position record_ids",
    "sparkdl.data.batches.blocks": "blocks permutation",
    "sparkdl.data.batches.prefetch": "prefetch",
    "sparkdl.data.batches.sequences": "pad",
    "sparkdl.data.readers.lmdb_files.writer": "write_lmdb",
    "sparkdl.data.readers.sequence_file.writer": "write_sequence_file",
    "sparkdl.data.readers.tables.frame_columns": "Numbers Pictures",
    "sparkdl.data.readers.text_files.characters": "Characters",
    "sparkdl.data.records.schema": "Schema",
    "sparkdl.data.samples.digits": "digits",
    "sparkdl.data.source": "Source Split check_batches",
    "sparkdl.data.transforms": "*",
    "sparkdl.data.writers": "write_lmdb_anywhere write_parquet write_sequence_datums",
}

HOMES = homes(READERS) | homes(BESIDE)
MEMBERS = homes(READERS)
MEMBERS["Text"] = MEMBERS.pop("TextSequences")  # its name in JSON and YAML
__all__ = list(HOMES)
__getattr__, __dir__ = lazy_names(__name__, HOMES)
