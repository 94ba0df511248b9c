"""What `mkdocs build` needs beyond Markdown: pages of files outside docs/, of commands, notebooks, and equations.

Pages are written so that their links work in the repository. Here a link that leaves docs/ is pointed at the page of
the site that shows the file: CONTRIBUTING.md and CHANGELOG.md are pages of their own, notebooks are rendered, and any
other file is shown as it is.
"""

import json
import posixpath
import re
from pathlib import Path, PurePosixPath

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
NOTEBOOKS = "examples"
LINK = re.compile(r"(?<=\]\()([^)\s#]+)(#[^)\s]*)?(?=\))")
HIDDEN = "---\nsearch:\n  exclude: true\n---\n\n"  # a file of the source is no answer to a question


def page_of(path: str) -> str:
    """The source of the page that shows a file of the repository."""
    inside = PurePosixPath(path)
    if inside.parts[:1] == ("docs",):
        return str(inside.relative_to("docs"))
    if inside.parent.name == NOTEBOOKS and inside.suffix == ".ipynb":
        return str(inside.with_suffix(".md"))
    return PAGES.get(path, f"source/{path}.md")


def file_of(page: str) -> str:
    """The file of the repository from which a page of the site is made, whose links are relative to it."""
    for path, made in PAGES.items():
        if made == page and path != "README.md":
            return path
    if page.startswith(f"{NOTEBOOKS}/"):
        return page.removesuffix(".md") + ".ipynb"
    return f"docs/{page}"


def targets(text: str, file: str) -> dict[str, str]:
    """Links of a text that lead to files of the repository, and where these are in it."""
    found = {}
    for link, _ in LINK.findall(text):
        path = posixpath.normpath(posixpath.join(posixpath.dirname(file), link))
        if ":" not in link and (ROOT / path).is_file():
            found[link] = path
    return found


def on_files(files: Files, config: MkDocsConfig) -> Files:
    texts = {file_of(file.src_uri): file.content_string for file in files.documentation_pages()}
    for path, page in PAGES.items():
        if page not in files.src_uris:
            texts[path] = (ROOT / path).read_text()
            files.append(File.generated(config, page, content=texts[path]))
    for notebook in sorted((ROOT / NOTEBOOKS).glob("*.ipynb")):
        path = f"{NOTEBOOKS}/{notebook.name}"
        texts[path] = rendered(json.loads(notebook.read_text()), path)
        files.append(File.generated(config, page_of(path), content=texts[path]))
        files.append(File.generated(config, path, abs_src_path=str(notebook)))  # to download
    files.append(File.generated(config, "commands.md", content=commands_page()))
    shown = {path for file, text in texts.items() for path in targets(text, file).values()}
    for path in sorted(shown):
        page = page_of(path)
        if page.startswith("source/"):
            files.append(File.generated(config, page, content=source_page(path)))
    return files


def commands_page() -> str:
    """What `--help` says of each command."""
    from typer.main import get_command

    from fairflac.cli import app

    parts = ["# Commands", "Each as `fairflac COMMAND --help` prints it."]
    waiting = [("fairflac", get_command(app))]
    while waiting:
        name, command = waiting.pop(0)
        context = command.context_class(command, info_name=name, terminal_width=88)
        parts.append(f"## {name}\n\n```text\n{command.get_help(context)}\n```")
        waiting += [(f"{name} {word}", one) for word, one in getattr(command, "commands", {}).items()]
    return "\n\n".join(parts) + "\n"


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    own = page.file.src_uri
    pages = {link: page_of(path) for link, path in targets(markdown, file_of(own)).items()}

    def pointed(match: re.Match[str]) -> str:
        if match[1] not in pages:
            return match[0]
        return posixpath.relpath(pages[match[1]], posixpath.dirname(own) or ".") + (match[2] or "")

    return LINK.sub(pointed, markdown)


def source_page(path: str) -> str:
    language = {".py": "python", ".toml": "toml", ".csv": "text"}.get(PurePosixPath(path).suffix, "text")
    return f"{HIDDEN}# {path}\n\n````{language}\n{(ROOT / path).read_text().rstrip()}\n````\n"


def rendered(notebook: dict, path: str) -> str:
    """A notebook as Markdown, with what its cells put out."""
    script = PurePosixPath(path).with_suffix(".py").name
    parts = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        for output in cell.get("outputs", []):
            if "text" in output:
                parts.append(f"```{{.text .output}}\n{''.join(output['text']).rstrip()}\n```")
            else:
                alt = output["metadata"]["alt"]
                parts.append(f'<img alt="{alt}" src="data:image/png;base64,{output["data"]["image/png"]}">')
    name = PurePosixPath(path).name
    parts.insert(1, f'*As a notebook, <a href="{name}" download>{name}</a>, and as a script, [{script}]({script}).*')
    return "\n\n".join(parts) + "\n"


EQUATION = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Equations as MathML, which browsers draw by themselves: no script."""

    def drawn(match: re.Match[str]) -> str:
        text = match[2].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        if match[1] == "span":
            return convert(text)
        return f'<div class="equation">{convert(text, display="block")}</div>'

    return wrapped(EQUATION.sub(drawn, html))


OUTPUT = re.compile(r"(?<=<code>)[^<]*(?=</code></pre>)")  # without colours: what a command prints
COLUMNS = re.compile(r"\S {2,}\S")  # of a table


def wrapped(html: str) -> str:
    """Sentences that a command prints may be broken where the page ends; lines of tables may not."""

    def marked(match: re.Match[str]) -> str:
        lines = match[0].splitlines(keepends=True)
        return "".join(line if COLUMNS.search(line) else f'<span class="prose">{line}</span>' for line in lines)

    return OUTPUT.sub(marked, html)


WORKER = "https://unpkg.com/iframe-worker/shim"  # where the theme would load it from


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Search from disk needs a small script; it comes with the site."""
    depth = page.url.count("/")
    return output.replace(WORKER, "../" * depth + "tools/worker.js")


def on_post_template(output: str, template_name: str, config: MkDocsConfig) -> str:
    return output.replace(WORKER, "tools/worker.js")
