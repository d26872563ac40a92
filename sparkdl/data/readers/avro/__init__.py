"""Files of Avro records."""
