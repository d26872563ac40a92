"""Arrays whose first axis is the record: in memory, HDF5, files of fixed-size records."""
