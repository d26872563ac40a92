"""The GPU of a task: its driver, compiler, memory and shared libraries."""
