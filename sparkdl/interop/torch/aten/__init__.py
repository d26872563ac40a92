"""Live modules of PyTorch, exported and translated into networks of ours."""
