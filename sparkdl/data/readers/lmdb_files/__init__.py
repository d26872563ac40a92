"""Reader and writer of LMDB databases of Caffe's Datums."""
