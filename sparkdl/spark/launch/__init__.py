"""Workers that run all at once, as the tasks of one stage."""
