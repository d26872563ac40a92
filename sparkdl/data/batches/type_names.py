"""Names of the types of data, for error messages."""


def kind_of(value):
    """The name of its type with the module, as "pandas.core.frame.DataFrame"; "list" for a list."""
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def package_of(value):
    """The package that its type is from, as "pandas"."""
    return type(value).__module__.partition(".")[0]
