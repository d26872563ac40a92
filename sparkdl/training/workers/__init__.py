"""The workers that train: their contract, and processes of this machine that keep it."""
