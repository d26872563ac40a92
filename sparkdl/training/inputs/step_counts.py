"""Labels of a network that have as many time steps as its features."""

from sparkdl.nn.execution.batch_tensors import tensor


def labels_of_steps(conf, masks):
    """Returns {label column: feature column with the same number of steps}.

    Only where this is certain: a mask of the features reaches the output unchanged, so no layer on
    the way has changed the steps, and no label is ignored.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    masks : {column: column of its mask}
        Of the features and labels that have steps.
    """
    scored = {column: place for column, place in conf.label_columns.items() if column in masks}
    scored = {
        c: p for c, p in scored.items() if getattr(p.layer.loss, "ignore_label", None) is None
    }
    reached = columns_by_layer(conf, masks) if scored else {}
    found = {column: reached[place.name] for column, place in scored.items()}
    return {column: features for column, features in found.items() if features is not None}


def columns_by_layer(conf, masks):
    """Returns {layer: feature column whose mask its output has, None without one}."""
    names = {column: name for column, name in conf.feature_columns.items() if column in masks}
    given = {name: tensor(name, (1, conf.input_shapes[name][0])) for name in names.values()}
    found = dict.fromkeys(conf.input_shapes) | given
    for place in conf.stack:
        several = tuple(found[source] for source in place.sources)
        mask = several if place.layer.multi_input else several[0]
        found[place.name] = place.layer.out_mask(mask, place.in_shape)
    columns = {id(given[name]): column for column, name in names.items()}
    return {name: columns.get(id(mask)) for name, mask in found.items()}
