"""The GPU of a task: its driver, its compiler, its memory, and the shared libraries it loads."""
