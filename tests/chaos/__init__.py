"""Seeded random faults in fits of all masters on two executors of this machine."""
