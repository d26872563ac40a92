"""Parameter server: workers push gradients to servers and pull parameters from them."""
