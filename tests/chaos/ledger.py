"""What was tried and how it ended: one table, and a line for everything that was lost."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from fairflac.system.tables import text_table

# Where nothing can be locked, nobody can tell a file that is being written from one that a dead process left.
LITTERS = ("lock of a dead machine, no flock",)
TRACEBACK, FRAMES = "Traceback (most recent call last)", 40  # lines of one that are shown
HEAD = ("fault", "command", "tried", "survived", "lost", "tracebacks", "left behind")


@dataclass
class Row:
    tried: int = 0
    survived: int = 0
    lost: int = 0
    tracebacks: int = 0
    left_behind: int = 0  # temporary files that stay, though nothing is lost


@dataclass
class Ledger:
    """Counts by fault and command, in the order of their first trial."""

    rows: dict[tuple[str, str], Row] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)  # fault → why

    def enter(self, fault: str, command: str, trial: str, said: str, complaint: str) -> None:
        """One trial. `said`: all that the commands printed; `complaint`: what is wrong with the result, or nothing."""
        row = self.rows.setdefault((fault, command), Row())
        row.tried += 1
        traceback = TRACEBACK in said
        only_litter = complaint.startswith("left behind")
        row.tracebacks += traceback
        row.left_behind += only_litter
        row.survived += not complaint or only_litter
        row.lost += bool(complaint) and not only_litter
        if complaint or traceback:
            self.notes.append(f"{fault}, {command}, {trial}: {complaint or 'a traceback'}")
            lines = (
                said.partition(TRACEBACK)[2].splitlines()[1:FRAMES] if traceback else said.rstrip().splitlines()[-1:]
            )
            self.notes += [f"    {line}" for line in lines]

    @property
    def sound(self) -> bool:
        """Nothing lost, no traceback, nothing left behind that could have been swept up."""
        return not any(
            row.lost or row.tracebacks or (row.left_behind and fault not in LITTERS)
            for (fault, _), row in self.rows.items()
        )

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        total = Row(*(sum(column) for column in zip(*map(_numbers, self.rows.values()), strict=True)))
        entries = [*self.rows.items(), (("all", ""), total)]
        yield text_table([list(HEAD), *([*names, *map(str, _numbers(row))] for names, row in entries)])
        yield from (f"skipped: {fault}: {why}" for fault, why in self.skipped.items())
        yield from self.notes


def _numbers(row: Row) -> list[int]:
    return [row.tried, row.survived, row.lost, row.tracebacks, row.left_behind]
