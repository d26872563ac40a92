"""Parser of Spark's properties files, such as spark-defaults.conf."""

import re

END_OF_KEY = re.compile(r"\s*[=:\s]\s*")
COMMENTS = "#", "!"


def parse_properties(text: str) -> dict[str, str]:
    """Returns {key: value} of the lines of a file; a key without a value has "".

    References
    ----------
    java.util.Properties, by which Spark reads them: a key ends with white space, "=" or ":".
    """
    lines = [line.strip() for line in text.splitlines()]
    pairs = [
        END_OF_KEY.split(line, maxsplit=1)
        for line in lines
        if line and not line.startswith(COMMENTS)
    ]
    return {key: value[0] if value else "" for key, *value in pairs}
