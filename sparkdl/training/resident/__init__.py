"""Masters whose workers stay for a whole fit and exchange what they learn among themselves.

schedule    which worker trains which block in which round
shared      what the driver tells all workers
shelf       a worker's records, in files
worker      what a master's half in a worker works with
strategy    what that half must do; each master has its own
life        a worker from start to end
control     what workers tell the driver, and what ends them
crew        the driver's side of workers that were launched together
supervisor  a fit: crews, one after the other where workers are lost
"""
