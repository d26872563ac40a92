"""Reports of a fit to its listeners, and the record that it leaves."""
