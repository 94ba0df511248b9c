"""What a shell may offer for a word that is being typed. Names are read from the source: torch is not imported."""

from collections.abc import Iterable

import typer


def datasets(incomplete: str) -> list[str]:
    from fairflac.config.options import registered

    return _begin(registered("dataset"), incomplete)


def methods(incomplete: str) -> list[str]:
    from fairflac.config.options import registered

    return _begin(registered("method"), incomplete)


def sources(incomplete: str) -> list[str]:
    """What `fairflac data` knows: datasets, and the raw files that they are made of."""
    from fairflac.config.options import registered
    from fairflac.config.options import sources as raw

    return _begin((*registered("dataset"), *raw()), incomplete)


def tables(incomplete: str) -> list[str]:
    """Of the paper."""
    from fairflac.reproduction.published import FIGURES, published_names

    return _begin({"table1", *published_names(), *FIGURES}, incomplete)


def settings(ctx: typer.Context, incomplete: str) -> list[str]:
    """`alpha=` for `--set`: of the dataset and method that stand before it, and of training."""
    from fairflac.config.options import Component, registered, training_options

    known = {"net", "target", *training_options().options}
    kinds: tuple[Component, ...] = ("dataset", "method")
    for kind in kinds:
        for word in (ctx.params.get(kind), *ctx.args):  # typer leaves them unread while an option has no value yet
            thing = registered(kind).get(str(word))
            known |= set(thing.options) if thing else set()
    if incomplete.startswith("net="):
        return _begin((f"net={name}" for name in registered("net")), incomplete)
    return _begin((f"{name}=" for name in known), incomplete)


def _begin(names: Iterable[str], incomplete: str) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))
