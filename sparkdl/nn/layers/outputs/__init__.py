"""Output layers, which compare with labels or add a loss."""
