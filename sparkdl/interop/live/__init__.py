"""Parts common to the live models of all frameworks."""
