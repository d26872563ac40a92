"""Live PyTorch modules, exported and translated into networks."""
