"""The oneDNN backend. `backend` loads the library when it is imported; nothing here does before."""
