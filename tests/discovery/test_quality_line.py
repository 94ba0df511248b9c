"""The quality of a bias model in one line."""

from fairflac.discovery.quality import quality_line


def test_intervals_are_no_attributes() -> None:
    quality = {
        "agreement:colour": 0.9,
        "agreement:colour.low": 0.88,
        "agreement:colour.high": 0.92,
        "agreement:colour.n": 4000,
    }
    assert quality_line(quality) == "right on colour for 90.0 % of the images"


def test_what_is_known_is_said() -> None:
    quality = {"class_probe": 0.1, "share": 0.012, "pairs": 193.4, "s.precision": 1.0, "s.recall": 0.5}
    assert quality_line(quality) == (
        "its features tell the class of 10.0 % (groups counting alike); FLAC learns from 193 pairs of a batch, 1.2 % "
        "of all; 100.0 % of these are right, and 50.0 % of the right ones are among them"
    )
    assert quality_line(quality, matches_pairs=False) == "its features tell the class of 10.0 % (groups counting alike)"
    assert not quality_line({"share": 0.012, "pairs": 193.4}, matches_pairs=False)
