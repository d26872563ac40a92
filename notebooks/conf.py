"""How Sphinx makes the site: `python build.py docs`."""

import re
from importlib.metadata import version as version_of

project = "sparkdl"
version = release = version_of("sparkdl-hadoop")
copyright = "the founders of sparkdl; Apache-2.0"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
html_theme = "furo"
html_title = f"sparkdl {version}"
html_show_sphinx = False

nb_execution_mode = "off"  # notebooks keep what they have printed; tests run them
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["mystnb.unknown_mime_type", "misc.highlighting_failure"]

autodoc_typehints = "none"  # "Parameters" says it in words
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_param = False  # a parameter is a line with its kind, unit and default
smartquotes = False  # quotes are part of values, which people copy
default_role = "code"  # one backtick, as docstrings write it
napoleon_custom_sections = ["Shapes"]

CODE = re.compile(r"(`[^`]+`)")
MARKUP = re.compile(r"(?<!^)\*(?! )|\||(?<=\w)_(?=\W|$)")


def escape(app, what, name, thing, options, lines):
    """Docstrings are plain text with names in backticks: nothing else in them is markup."""
    doctest = False
    for number, line in enumerate(lines):
        doctest = line.lstrip().startswith(">>>") or (doctest and line.strip() != "")
        if not doctest:
            parts = CODE.split(line)
            plain = [MARKUP.sub(lambda mark: "\\" + mark[0], part) for part in parts[::2]]
            parts[::2] = plain
            lines[number] = "".join(parts)


def setup(app):
    app.connect("autodoc-process-docstring", escape, priority=400)  # before napoleon
