"""Ways to train on several workers: one folder for each TrainingMaster."""
