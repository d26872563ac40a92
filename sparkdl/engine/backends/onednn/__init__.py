"""The oneDNN backend. Importing `backend` loads the library; nothing else here does."""
