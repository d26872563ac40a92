"""Tables of columns: Parquet files and DataFrames."""
