"""docs/methods.md: what every method is, from its docstring and what it declares."""

import inspect
import textwrap
from typing import NamedTuple

from fairflac.config.options import options_of
from fairflac.methods import METHODS, Method

HEAD = """# Methods

Made by `fairflac list methods --markdown` from the docstrings; a test keeps it up to date. "Sees" is what a method may
look at in training: reading anything else is an error. No method sees the attribute of an image that it predicts.
"""


class Description(NamedTuple):
    """The parts of a method's docstring."""

    headline: str
    body: str
    paper: str
    deviations: str


def describe(method: type[Method]) -> Description:
    """Docstrings have a headline, some text, and paragraphs that begin with `Paper:` and `Deviations:`."""
    text, _, deviations = (inspect.getdoc(method) or "").partition("Deviations:")
    text, _, paper = text.partition("Paper:")
    headline, _, body = text.partition("\n")
    return Description(headline.strip(), body.strip(), _joined(paper), _joined(deviations))


def sees(method: type[Method]) -> str:
    """The labels that a method is given, in words."""
    labels = "class and attribute labels" if method.uses_bias_labels else "class labels"
    if "label_share" in options_of(method).model_fields:
        labels = "class labels, and attribute labels of a share of the images"
    return labels + (" + bias model" if method.needs_bias_model else "")


def methods_page() -> str:
    """The whole page in Markdown."""
    rows = [f"| [{name}](#{name}) | {describe(method).headline} | {sees(method)} |" for name, method in METHODS.items()]
    table = "\n".join(["| name | what it is | sees |", "|---|---|---|", *rows])
    return "\n".join([HEAD, table, "", *(_section(name, method) for name, method in METHODS.items())])


def _section(name: str, method: type[Method]) -> str:
    parts = describe(method)
    source = f"src/{method.__module__.replace('.', '/')}.py"
    lines = [
        f"## {name}\n",
        f"{parts.headline}\n",
        *([f"{textwrap.dedent(parts.body)}\n"] if parts.body else []),
        f"- Paper: {parts.paper}",
        f"- Sees: {sees(method)}.",
        f"- Deviations: {parts.deviations}",
        f"- File: [{source}](../{source})",
        "",
    ]
    return "\n".join(lines)


def _joined(paragraph: str) -> str:
    return " ".join(paragraph.split())
