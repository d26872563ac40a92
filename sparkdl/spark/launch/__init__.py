"""Workers that run concurrently as the tasks of one stage."""
