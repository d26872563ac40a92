"""The records that a network takes, and Batches made of them."""
