"""What keeps a cluster from training, found before a fit."""
