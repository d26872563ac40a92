"""Transformers in folders of Hugging Face, read into networks of the zoo."""
