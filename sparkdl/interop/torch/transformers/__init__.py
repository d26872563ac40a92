"""Transformers in Hugging Face folders, read into networks of the zoo."""
