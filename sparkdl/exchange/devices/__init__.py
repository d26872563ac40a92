"""A group whose members sum directly between devices, with a library such as NCCL."""
