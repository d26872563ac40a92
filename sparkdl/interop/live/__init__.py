"""What live models of all frameworks have in common."""
