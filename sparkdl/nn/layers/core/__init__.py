"""The contract of a layer, and what layers of every kind share."""
