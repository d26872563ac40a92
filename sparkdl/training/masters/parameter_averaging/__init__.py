"""Parameter averaging: workers train alone for some minibatches, then go on from their mean."""
