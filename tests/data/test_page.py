"""The page of all datasets."""

from pathlib import Path

from fairflac.api.pages import datasets_page
from fairflac.data import DATASETS

PAGE = Path(__file__).parents[2] / "docs" / "datasets.md"


def test_the_page_in_docs_is_up_to_date() -> None:
    assert PAGE.read_text() == datasets_page(), "run: fairflac list datasets --markdown > docs/datasets.md"


def test_every_dataset_is_there_with_its_facts() -> None:
    sections = PAGE.read_text().split("\n## ")[1:]
    assert [section.partition("\n")[0] for section in sections] == list(DATASETS)
    for section in sections:
        assert all(f"\n- {title}: " in section for title in ("Input", "Class", "Bias", "Splits", "Source", "Licence"))
