"""A group whose members have devices that add up among themselves, by a library such as NCCL."""
