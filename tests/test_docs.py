"""The documentation: the reference covers every public name and option; pages keep their form.

tests/test_readmes.py checks links and paths, tests/end_to_end/test_pages.py runs the code.
"""

import importlib
import inspect
import json
import re
import shlex
from urllib.parse import urlsplit

import pytest

import sparkdl
from sparkdl import cli
from tests.support.pages import DOCS, FENCED, ROOT, blocks, commands, pages, read
from tests.test_readmes import page_at

MODULES = [*sparkdl.MODULES, "ml", "tune"]
LANGUAGES = {"", "python", "bash", "yaml"}  # of code blocks; others are Sphinx directives
DIRECTIVE = re.compile(r"\{[\w-]+\}.*")
REFERENCE = "\n".join(path.read_text() for path in sorted((DOCS / "reference").glob("*.md")))


def documented():
    """{object: its name in the reference}, such as `sparkdl.Dense` or `sparkdl.layers.Dense`."""
    alone = re.findall(r"^\.\. auto(?:class|function):: (\S+)$", REFERENCE, re.MULTILINE)
    whole = re.findall(r"^\.\. automodule:: (\S+)\n   :members:$", REFERENCE, re.MULTILINE)
    names = [f"{name}.{each}" for name in whole for each in importlib.import_module(name).__all__]
    return {thing_at(name): name for name in [*alone, *names]}


def thing_at(path):
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def public():
    """{object: its shortest name} of everything that users may import."""
    homes = [(f"sparkdl.{module}", module) for module in MODULES]
    names = [
        f"{home}.{name}" for home, _ in homes for name in importlib.import_module(home).__all__
    ]
    return {thing_at(name): name for name in [*names, *(f"sparkdl.{n}" for n in sparkdl.HOMES)]}


PUBLIC = public()


# The reference


def test_the_reference_has_every_public_name():
    assert sorted(PUBLIC[thing] for thing in PUBLIC.keys() - documented().keys()) == []


def test_every_public_name_has_a_docstring():
    assert [name for thing, name in PUBLIC.items() if not inspect.getdoc(thing)] == []


def unexplained(thing):
    """Parameters that the docstring of a class or function does not explain."""
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return []
    kinds = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    options = inspect.signature(thing).parameters.values()
    return [o.name for o in options if o.kind not in kinds and not explains(thing, o.name)]


def explains(thing, name):
    """Whether "Parameters" or "Attributes" lists an option, or mentions it as a shorthand."""
    text = inspect.getdoc(thing) or ""
    _, _, parameters = text.replace("Attributes\n", "Parameters\n").partition(
        "Parameters\n----------\n"
    )
    entry = re.search(rf"^(?:\w+, )*{name}(?:, \w+)*(?: :|$)", parameters, re.MULTILINE)
    return entry or (name in getattr(thing, "shorthands", ()) and f"`{name}`" in parameters)


def test_every_option_is_explained():
    wrong = {name: unexplained(thing) for thing, name in PUBLIC.items()}
    assert {name: options for name, options in wrong.items() if options} == {}


def test_an_option_without_a_text_is_seen():
    def wait(seconds, retries, name):
        """Waits.

        Parameters
        ----------
        name : str
        limit, retries : int
        """

    assert unexplained(wait) == ["seconds"]


# The pages


def test_readme_is_short_and_begins_with_a_dataframe():
    assert len(read("README.md").splitlines()) <= 120
    first = blocks("README.md", "python")[0]
    assert "createDataFrame" in first and len(first.splitlines()) <= 10


def test_each_how_to_page_asks_a_question():
    titles = [read(page).splitlines()[0] for page in pages() if "/how_to/" in page]
    assert len(titles) > 10
    assert [title for title in titles if not re.fullmatch(r"# How do I .*\?", title)] == []


def test_every_page_is_in_the_table_of_contents():
    index = read("notebooks/index.md")
    paths = [page.removeprefix("notebooks/").removesuffix(".md") for page in pages()]
    names = [*paths, *(path.stem for path in DOCS.glob("*.ipynb"))]
    assert {*names} - {*index.splitlines()} == {"README", "index"}


@pytest.mark.parametrize("page", pages())
def test_blocks_are_of_known_languages(page):
    kinds = {kind.strip() for kind, _ in FENCED.findall(read(page))}
    assert {kind for kind in kinds if not DIRECTIVE.fullmatch(kind)} <= LANGUAGES


@pytest.mark.slow
def test_our_words_for_those_of_others_exist():
    from tests.test_readmes import PACKAGE, names_in, words_of

    ours = [rest for _, rest in page_at("notebooks/migration.md").rows]
    free = {"SparkNetwork", "conf", "solver", "sc", "tm", "ip1", "ip2", "initializer"}
    spans = [span for cell in ours for span in cell.names if not span.startswith("sparkdl ")]
    words = {word for span in spans for word in words_of(span)}
    assert len(words) > 60
    assert words - names_in(PACKAGE) - free == set()


# Links to other sites; `python build.py docs --links` checks them online

LINK = re.compile(r"\]\((\w+:[^)]*)\)|<(\w+://[^>]*)>")
GUIDES = [*pages(), ".github/CONTRIBUTING.md", ".github/CHANGELOG.md"]


def links_of(text):
    """The links to other sites in Markdown, outside of code blocks."""
    prose = FENCED.sub("", text)
    return [marked or bare for marked, bare in LINK.findall(prose)]


def is_sound(link):
    """Whether a link uses https, has a full domain name and no blanks."""
    parts = urlsplit(link)
    named = re.fullmatch(r"([a-z0-9-]+\.)+[a-z]{2,}", parts.hostname or "")
    return bool(parts.scheme == "https" and named and not re.search(r"\s", link))


@pytest.mark.parametrize("page", GUIDES)
def test_links_to_other_sites_are_sound(page):
    assert [link for link in links_of(read(page)) if not is_sound(link)] == []


def test_links_of_notebooks_are_sound():
    notebooks = [json.loads(path.read_text()) for path in DOCS.glob("*.ipynb")]
    cells = [cell for notebook in notebooks for cell in notebook["cells"]]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    assert len(texts) > 40
    assert [link for text in texts for link in links_of(text) if not is_sound(link)] == []


def test_unsound_links_are_seen():
    text = """[a](https://optuna.org) <https://spark.apache.org/docs/>
    [b](http://optuna.org) [c](https://localhost:80/x) [d](https://optuna. org) <ftp://a.org>
    [e](../index.md)
```
[f](http://no-link)
```
"""
    wrong = ["http://optuna.org", "https://localhost:80/x", "https://optuna. org", "ftp://a.org"]
    assert [link for link in links_of(text) if not is_sound(link)] == wrong
    assert len(links_of(text)) == 6


COMMANDS = [line for page in pages() for line in commands(page)]


def test_there_are_commands_of_each_kind():
    kinds = {line.split()[1] for line in COMMANDS}
    known = {"train", "evaluate", "predict", "features", "summary", "time", "convert", "simulate"}
    assert kinds == known | {"submit", "caffe", "report"}


@pytest.mark.parametrize("line", COMMANDS)
def test_command_is_understood(line):
    options = cli.parser().parse_args(shlex.split(line)[1:])
    conf = getattr(options, "conf", None)
    assert conf is None or "://" in conf or (ROOT / conf).exists()


# Promises

PROMISED = re.findall(
    r"^\| .*\. \| (.*) \|$", read("notebooks/explanation/security.md"), re.MULTILINE
)


def test_there_are_promises():
    assert len(PROMISED) >= 20 and len(set(PROMISED)) == len(PROMISED)


@pytest.mark.parametrize("test", PROMISED)
def test_each_promise_of_security_has_its_test(test):
    path, _, name = test.strip("`").partition("::")
    assert re.search(rf"^def {name}\(", (ROOT / path).read_text(), re.MULTILINE)
