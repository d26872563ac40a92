"""One update of the flat parameter vector."""
