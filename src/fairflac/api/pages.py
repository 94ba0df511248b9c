"""Pages made from docstrings: docs/api.md (what `import fairflac` offers), docs/methods.md and docs/datasets.md."""

import inspect
import re
import textwrap

import fairflac
from fairflac.config.options import options_of
from fairflac.config.recipes import recipe_methods, recipe_names
from fairflac.data import DATASETS, Dataset
from fairflac.losses import __all__ as losses
from fairflac.methods import METHODS, Method
from fairflac.methods.base import describe
from fairflac.system.tables import markdown_table

API_HEAD = """# The public API

Made by `fairflac list api --markdown` from the docstrings; a test keeps it up to date. What is behind
a name is imported when it is asked for. Everything that is not here may change without notice.
"""
FUNCTIONS = (
    "train",
    "evaluate",
    "report",
    "export",
    "debias",
    "discover",
    "audit",
    "audit_predictions",
    "predict",
    "embed",
    "open_model",
    "tune",
    "reproduce",
    "score",
    "guessed_groups_scorer",
)
GROUPS = {
    "Functions": FUNCTIONS,
    "Classes": ("FLACClassifier", "Run", "Workspace", "UserError"),
    "Losses": tuple(losses),
}
SECTION = re.compile(r"^(Args|Returns|Example):\n((?:(?:    .*)?\n)+)", re.MULTILINE)
ARGUMENT = re.compile(r"^(\w+): ", re.MULTILINE)


LONGEST, WRAPPED = 120, 110  # letters of a line: a longer one is wrapped to fewer


def _wrapped(page: str) -> str:
    """Lines that can be read in the file too. Rows of tables stay whole, and what follows on is set in."""
    lines = []
    for line in page.split("\n"):
        if len(line) <= LONGEST or line.startswith("|"):
            lines.append(line)
            continue
        further = "  " if line.startswith("- ") else "    " if line.startswith("fairflac.") else ""
        lines += textwrap.wrap(line, WRAPPED, subsequent_indent=further, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def api_page() -> str:
    """As Markdown."""
    parts = [API_HEAD]
    for title, names in GROUPS.items():
        parts += [f"## {title}\n", *map(_entry, names)]
    return _wrapped("\n".join(parts))


def _entry(name: str) -> str:
    thing = getattr(fairflac, name)
    text = SECTION.sub(_section, (inspect.getdoc(thing) or "") + "\n").rstrip()
    return f"### `{name}`\n\n```python\nfairflac.{name}{_signature(thing)}\n```\n\n{text}\n"


def _signature(thing: object) -> str:
    """Names and defaults; what they are is said below."""
    if not callable(thing) or (isinstance(thing, type) and issubclass(thing, Exception)):
        return ""
    given = inspect.signature(thing)
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in given.parameters.values()]
    return re.sub(r"PosixPath\(('.*?')\)", r"\1", re.sub("<factory>", "…", str(inspect.Signature(plain)))).replace(
        "'", '"'
    )


def _section(found: re.Match[str]) -> str:
    title, body = found[1], textwrap.dedent(found[2]).strip("\n")
    if title == "Args":
        body = ARGUMENT.sub(r"- `\1`: ", body)
    if title == "Example":
        body = re.sub(r" *# doctest: \+SKIP", "", body)
        body = f"```python\n{body}\n```"
    return f"**{title}**\n\n{re.sub('^    ', '  ', body, flags=re.MULTILINE)}\n\n"


METHODS_HEAD = """# Methods

Made by `fairflac list methods --markdown` from the docstrings; a test keeps it up to date. "Sees" is what a method may
look at in training: reading anything else is an error. No method sees the attribute of an image that it predicts.
"""


def sees(method: type[Method]) -> str:
    """The labels that a method is given, in words."""
    labels = "class and attribute labels" if method.uses_bias_labels else "class labels"
    if "label_share" in options_of(method).model_fields:
        labels = "class labels, and attribute labels of a share of the images"
    return labels + (" + bias model" if method.needs_bias_model else "")


def methods_page() -> str:
    """The whole page in Markdown."""
    rows = [[f"[{name}](#{name})", describe(method).headline, sees(method)] for name, method in METHODS.items()]
    table = markdown_table(["name", "what it is", "sees"], rows)
    sections = [_method_section(name, method) for name, method in METHODS.items()]
    return _wrapped("\n".join([METHODS_HEAD, table, "", *sections]))


def _method_section(name: str, method: type[Method]) -> str:
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


DATASETS_HEAD = """# Datasets

Made by `fairflac list datasets --markdown` from the docstrings; a test keeps it up to date. How to get one, and how
your own images are laid out: [data](data.md).
"""
HEADING = re.compile(r"^([A-Z]\w+): (.+(?:\n    .+)*)", re.MULTILINE)


def datasets_page() -> str:
    """The whole page in Markdown."""
    parts = {name: dict(HEADING.findall(inspect.getdoc(dataset) or "")) for name, dataset in DATASETS.items()}
    rows = [[f"[{name}](#{name})", _line(part["Class"]), _line(part["Bias"])] for name, part in parts.items()]
    table = markdown_table(["name", "class", "bias: the attribute that gives it away"], rows)
    sections = [_dataset_section(name, dataset, parts[name]) for name, dataset in DATASETS.items()]
    return _wrapped("\n".join([DATASETS_HEAD, table, "", *sections]))


def _dataset_section(name: str, dataset: type[Dataset], parts: dict[str, str]) -> str:
    source = f"src/{dataset.__module__.replace('.', '/')}.py"
    headline = (inspect.getdoc(dataset) or "").partition("\n")[0]
    facts = [f"- {title}: {' '.join(text.split())}" for title, text in parts.items()]
    if name in recipe_names():
        facts.append(f"- Recipes: {', '.join(recipe_methods(name))}")
    return "\n".join([f"## {name}\n", f"{headline}\n", *facts, f"- File: [{source}](../{source})", ""])


def _line(text: str) -> str:
    """Up to the first full stop or semicolon, without what stands in brackets."""
    return re.split(r"[;.](?:\s|$)", re.sub(r" \([^)]*\)", "", " ".join(text.split())))[0]
