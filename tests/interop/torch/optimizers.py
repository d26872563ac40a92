"""torch optimizers for the tests, as functions of a module, and training by torch alone."""

from sparkdl.interop.torch.module_arrays import load_torch


def sgd(module):
    return load_torch().optim.SGD(module.parameters(), lr=0.05)


def momentum(module):
    return load_torch().optim.SGD(module.parameters(), lr=0.05, momentum=0.9)


def adamw(module):
    return load_torch().optim.AdamW(module.parameters(), lr=0.01)


def by_groups(module):
    groups = [
        {"params": [p for p in module.parameters() if p.ndim > 1], "weight_decay": 0.1},
        {"params": [p for p in module.parameters() if p.ndim < 2], "lr": 0.01},
    ]
    return load_torch().optim.SGD(groups, lr=0.05, momentum=0.9)


TWINS = {"Sgd": sgd, "Momentum": momentum, "Adam": adamw}  # for the optimizers in master_table


def train(module, optimizer, batches, scheduler=None, clip=None):
    """Trains by torch and returns the learning rates of the first parameter group.

    `clip` clips the gradients of the parameters that it gets.
    """
    torch, used = load_torch(), []
    for batch in batches:
        used.append(optimizer.param_groups[0]["lr"])
        x = torch.tensor(batch.features)
        loss = torch.nn.functional.cross_entropy(module(x), torch.tensor(batch.labels).long())
        optimizer.zero_grad()
        loss.backward()
        if clip is not None:
            clip(module.parameters())
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
    return used
