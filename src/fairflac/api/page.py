"""docs/api.md: everything that `import fairflac` offers, from the docstrings."""

import inspect
import re
import textwrap

import fairflac
from fairflac.losses import __all__ as losses

HEAD = """# The public API

Made by `fairflac list api --markdown` from the docstrings; a test keeps it up to date. What is behind
a name is imported when it is asked for. Everything that is not here may change without notice.
"""
FUNCTIONS = ("train", "evaluate", "report", "export", "debias", "audit", "predict", "open_model", "reproduce")
GROUPS = {
    "Functions": FUNCTIONS,
    "Classes": ("FLACClassifier", "Run", "Workspace", "UserError"),
    "Losses": tuple(losses),
}
SECTION = re.compile(r"^(Args|Returns|Example):\n((?:(?:    .*)?\n)+)", re.MULTILINE)
ARGUMENT = re.compile(r"^(\w+): ", re.MULTILINE)


def api_page() -> str:
    """As Markdown."""
    parts = [HEAD]
    for title, names in GROUPS.items():
        parts += [f"## {title}\n", *map(_entry, names)]
    return "\n".join(parts)


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
