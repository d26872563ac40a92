"""Synchronizes vectors that workers ought to hold alike."""


def synchronize(worker):
    """Gives all workers params, buffers and slots of the one with the most updates.

    Of several it is the one of the lowest rank. So do DistLearn's synchronizeParameters.
    """
    largest = worker.maximum(worker.iteration * worker.size + worker.size - 1 - worker.rank)
    root = worker.size - 1 - largest % worker.size
    replica = worker.replica
    with worker.exchanging():
        for vector in (replica.params, replica.buffers, replica.slots):
            if len(vector):
                worker.group.broadcast(vector, root)
    worker.iteration = largest // worker.size
