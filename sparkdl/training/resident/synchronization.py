"""Synchronization of vectors that should be equal on all workers."""


def synchronize(worker):
    """Gives all workers the params, buffers and slots of the one with the most updates.

    Ties go to the lowest rank. This is DistLearn's synchronizeParameters.
    """
    largest = worker.maximum(worker.iteration * worker.size + worker.size - 1 - worker.rank)
    root = worker.size - 1 - largest % worker.size
    replica = worker.replica
    with worker.exchanging():
        for vector in (replica.params, replica.buffers, replica.slots):
            if len(vector):
                worker.group.broadcast(vector, root)
    worker.iteration = largest // worker.size
