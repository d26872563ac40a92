"""What a fit tells its listeners, and the record that it leaves."""
