"""What an audit found, in one word and a few sentences. What chance or difficulty may explain is called no shortcut.

The bounds were set on planted shortcuts and on controls that no test uses; docs/audit.md has the numbers.
"""

from typing import Literal, NamedTuple

from fairflac.audit.cues import CUES
from fairflac.audit.exchange import Followed
from fairflac.audit.work import Audit, Guessed
from fairflac.metrics import Measured
from fairflac.metrics.groups import SMALL
from fairflac.report.ranges import span, with_range
from fairflac.report.verdict import VISIBLE_GAP

FOLLOWS = 0.4  # a cue, more often than anyway: faces without a shortcut come to 0.3 for the border, where hair is
LEANS = 0.6  # on a guess: a weak model of digits without a shortcut comes to 0.4
TELLING = 3  # classes: of two, an image that is merely hard is named as it is guessed too, however little that means
HINT = 0.15  # of either: worth a look

Word = Literal["leans on a shortcut", "no evidence", "cannot tell"]
NO_PROOF = (
    "No evidence is no proof of none: a cue that is not in the list, or an attribute such as age or skin colour that "
    "no simple change of pixels exchanges, is found with labels of it alone (a column of a CSV file)."
)
YOURS_TO_SAY = (
    "Whether this is a shortcut or what the classes are about is yours to say: of ripe and unripe fruit, the colour is "
    "the point."
)


class Verdict(NamedTuple):
    word: Word
    on: list[str]  # what it leans on; empty unless it does
    reasons: list[str]  # sentences


def verdict(audit: Audit) -> Verdict:
    groups = {name: gap for name, gap in audit.gaps.items() if gap.low > VISIBLE_GAP}
    cues = [one for one in audit.followed if one.difference.low > FOLLOWS]
    guessed = audit.guessed if _follows_guess(audit) else None
    if groups or cues or guessed:
        reasons = [_group(name, gap) for name, gap in groups.items()] + [_cue(one) for one in cues]
        on = list(dict.fromkeys([*groups, *(one.cue for one in cues)])) or ["something simple that has no name here"]
        return Verdict("leans on a shortcut", on, reasons + ([_guess(guessed)] if guessed else []) + [YOURS_TO_SAY])
    blind = _blind(audit)
    word: Word = "cannot tell" if blind else "no evidence"
    return Verdict(word, [], blind + (_hints(audit) or ["No cue that was tried moves the model much."]) + [NO_PROOF])


def _follows_guess(audit: Audit) -> bool:
    guessed, several = audit.guessed, len(audit.subject.data.task.classes) >= TELLING
    lean = guessed.lean if guessed.better_than_chance and several else None
    return lean is not None and lean.difference.low > LEANS


def _group(attribute: str, gap: Measured) -> str:
    points = f"{100 * gap.value:.1f} points ({span(gap)}, n = {gap.n:,})"
    return f"Where the {attribute} does not go with the class, it is right less often, by {points}."


def _cue(one: Followed) -> str:
    return (
        f"It follows the {one.cue} ({CUES[one.cue].meaning}): given that of an image of another class, it names that "
        f"class for {with_range(one.follows)} of the images; given that of its own class, for {with_range(one.anyway)}."
    )


def _guess(guessed: Guessed) -> str:
    assert guessed.lean is not None
    return (
        "Where the guess of a bias model, which learns what is easy, is wrong, it names the guessed class for "
        f"{with_range(guessed.lean.follows)} of the images; of images of the same class that are guessed otherwise, "
        f"for {with_range(guessed.lean.elsewhere)}."
    )


def _blind(audit: Audit) -> list[str]:
    """Why nothing can be said about cues that have no name."""
    guessed = audit.guessed
    if not audit.followed:
        return ["The model names one class for all of these images, so that nothing can be exchanged."]
    if not guessed.better_than_chance:
        return [
            f"The bias model guesses no better than chance ({with_range(guessed.right)} right): nothing simple tells "
            "the classes of these images apart, which is a good sign."
        ]
    if guessed.disagree is None or guessed.disagree.n < SMALL:
        few = guessed.disagree.n if guessed.disagree else 0
        return [
            f"The guess of the bias model contradicts the class of {few} images only, fewer than the {SMALL} that it "
            "takes: with these images, a shortcut and the class itself look alike. Images where they differ would help."
        ]
    return []


def _hints(audit: Audit) -> list[str]:
    """What is too little to be called a shortcut."""
    hints = [
        f"It follows the {one.cue} a little, for {with_range(one.difference)} of the images."
        for one in audit.followed
        if one.difference.low > HINT
    ]
    lean, guessed = audit.guessed.lean, audit.guessed
    if guessed.better_than_chance and lean and lean.difference.low > HINT and guessed.agree and guessed.disagree:
        hints.append(
            f"It is right on {with_range(guessed.agree)} of the images where the bias model is right and on "
            f"{with_range(guessed.disagree)} of the others: they may be hard, or lack a shortcut."
        )
    return hints
