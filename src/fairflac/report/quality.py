"""The quality of a bias model in one line."""

from collections.abc import Mapping

from fairflac.report.tables import percent

PARTS = (".low", ".high", ".n")  # of a number: its interval, and how much is behind it


def quality_line(quality: Mapping[str, float]) -> str:
    """From the numbers of `bias_quality.measure`."""
    parts = [
        f"right on {name.partition(':')[2]} for {percent(value)} of the images"
        for name, value in quality.items()
        if name.startswith("agreement:") and not name.endswith(PARTS)
    ]
    if "class_probe" in quality:
        parts.append(f"its features tell the class of {percent(quality['class_probe'])} (groups counting alike)")
    if "share" in quality:
        parts.append(f"{percent(quality['share'])} of pairs in S, {quality['pairs']:.0f} in a batch")
    if "s.precision" in quality:
        parts.append(f"S is right on {percent(quality['s.precision'])} and finds {percent(quality['s.recall'])}")
    return "; ".join(parts)
