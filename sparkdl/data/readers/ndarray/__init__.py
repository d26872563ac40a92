"""Arrays with one record along the first axis: in memory, HDF5, files of fixed records."""
