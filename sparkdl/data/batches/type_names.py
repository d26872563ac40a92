"""Names of the types of data, for error messages."""


def kind_of(value):
    """Returns the name of a type with its module, as "pandas.core.frame.DataFrame", or "list"."""
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def package_of(value):
    """Returns the package that its type is from, as "pandas"."""
    return type(value).__module__.partition(".")[0]
