from fairflac.reproduction.published import published
from fairflac.reproduction.tables import COLUMNS, applicability, applicability_page


def test_what_methods_declare_is_what_the_paper_says_of_flac():
    ticks = applicability()
    for row in published("table1").rows:
        if row.method:
            assert dict(zip(COLUMNS, ticks[row.method], strict=True)) == row.ticks


def test_methods_that_read_labels_need_them_in_d():
    ticks = applicability()
    assert ticks["di"] == (False, None, False)
    assert ticks["lff"] == (True, True, True)
    assert "| flac | ✓ | ✗ | ✗ |" in applicability_page()
