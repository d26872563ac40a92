"""LMDB databases of Caffe's Datums, read and written."""
