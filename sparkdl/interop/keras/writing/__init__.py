"""Writer of networks as .keras archives."""
