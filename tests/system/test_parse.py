"""TOML, JSON, archives and names from anybody."""

from pathlib import Path

import numpy as np
import pytest

from fairflac.system.files import read_all
from fairflac.system.parse import parse_json, parse_toml
from fairflac.system.tables import csv_name, csv_text, text_table


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "a." * 20_000 + "a = 1", "a = " + "9" * 5000, "x" * 200_000])
def test_toml_that_would_break_the_parser(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_toml(text)


def test_json_that_is_nested_too_deeply() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_json("[" * 100_000)


def test_an_archive_that_unpacks_to_a_multiple_of_its_size(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "bomb.npz", a=np.zeros(200_000_000, np.uint8))
    with pytest.raises(ValueError, match="unpack"):
        read_all(tmp_path / "bomb.npz")


@pytest.mark.parametrize("name", ["=1+1", "'=1+1", "@x", "-x", "+x", "plain", "'quoted'", "-1"])
def test_a_formula_is_no_formula_and_reads_back(name: str) -> None:
    cell = csv_text([[name]]).strip()
    assert cell[0] not in "=@+" and (cell[0] != "-" or name == "-1")
    assert csv_name(cell) == name


def test_a_table_commands_no_terminal() -> None:
    assert "\x1b" not in text_table([["\x1b[31m", "a\nb"]]) and "\n" not in text_table([["a\nb"]])
