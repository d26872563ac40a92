"""Order of layers in Keras's functional models.

Weights files number the layers of a class in this order, so a written file must have it.
"""


def layer_order(calls, outputs):
    """Returns the layer names, those farthest from the outputs first.

    Parameters
    ----------
    calls : {(layer, number of the call): [(layer, number) that it reads]}
    outputs : list of (layer, number)
    """
    visited, first_seen = visits(calls, outputs)
    depths, of_layer = {}, {}
    for call in reversed(visited):
        depth = max(depths.get(call, 0), of_layer.get(call[0], 0))
        depths[call] = of_layer[call[0]] = depth
        for source in calls[call]:
            depths[source] = max(depth + 1, depths.get(source, 0))
    unused = [name for name, _ in calls if name not in of_layer]
    return sorted(of_layer, key=lambda name: (-of_layer[name], first_seen[name])) + unused


def visits(calls, outputs):
    """Returns (calls in topological order, {layer: index of first visit}), depth first."""
    visited, first_seen, begun = [], {}, set()
    for output in outputs:
        stack = [(output, iter(calls[output]))] if output not in begun else []
        begun.add(output)
        first_seen.setdefault(output[0], len(first_seen))
        while stack:
            call, sources = stack[-1]
            source = next(sources, None)
            if source is None:
                visited.append(call)
                stack.pop()
            elif source not in begun:
                begun.add(source)
                first_seen.setdefault(source[0], len(first_seen))
                stack.append((source, iter(calls[source])))
    return visited, first_seen
