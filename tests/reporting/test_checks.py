"""The quality of a bias model, as questions."""

from fairflac.reporting.checks import checks
from fairflac.reporting.naming import Names

NAMES = Names(["a", "b", "c", "d"], {"skin_tone": ["light", "dark"]})


def test_every_number_answers_a_question() -> None:
    quality = {
        "agreement:skin_tone": 0.9,
        "n": 4000,
        "attribute_probe:skin_tone": 0.8,
        "class_probe": 0.3,
        "pairs": 193.4,
        "share": 0.012,
        "s.precision": 0.7,
        "s.recall": 0.6,
        "s.chance": 0.05,
        "same_target.precision": 0.5,
    }
    found = checks(quality, NAMES)
    assert [check.answer for check in found] == ["90.0 %", "80.0 %", "30.0 %", "193, 1.2 %", "70.0 %", "60.0 %"]
    assert [check.chance for check in found] == ["50.0 %", "50.0 %", "25.0 %", "", "5.0 %", ""]
    assert "skin tone" in found[0].question


def test_numbers_have_their_ranges_where_the_run_kept_them() -> None:
    quality = {"agreement:skin_tone": 0.9, "agreement:skin_tone.low": 0.891, "agreement:skin_tone.high": 0.909}
    quality |= {"agreement:skin_tone.n": 4000, "pairs": 193.4, "share": 0.012, "share.low": 0.01, "share.high": 0.014}
    quality |= {"share.n": 31, "s.precision": 0.7, "s.recall": 0.6}
    assert [check.answer for check in checks(quality, NAMES)] == [
        "90.0 % (89.1–90.9, n = 4,000)",
        "193, 1.2 % (1.0–1.4, n = 31 batches)",
        "70.0 %",
        "60.0 %",
    ]


def test_only_what_was_measured() -> None:
    assert checks({}, NAMES) == []
    assert [check.chance for check in checks({"class_probe": 0.3}, Names([], {}))] == [""]
