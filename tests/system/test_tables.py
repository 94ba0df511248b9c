"""Tables of text: aligned for a terminal, and as Markdown."""

from fairflac.system.tables import escape_markdown, markdown_table, text_table


def test_columns_are_as_wide_as_they_need_to_be() -> None:
    assert text_table([["", "n"], ["first", "1"], ["b", "1,000"]]).splitlines() == [
        "           n",
        "first      1",
        "b      1,000",
    ]


def test_each_column_may_have_its_side_and_no_line_ends_in_spaces() -> None:
    assert text_table([["a", "1", ""], ["bc", "22", "x"]], "<><").splitlines() == ["a    1", "bc  22  x"]


def test_markdown_has_a_rule_below_its_head() -> None:
    assert markdown_table(["a", "b", "c"], [["1", "2", "3"]], "<^>").splitlines() == [
        "| a | b | c |",
        "|---|:-:|---:|",
        "| 1 | 2 | 3 |",
    ]
    assert markdown_table(["a", "b"], []) == "| a | b |\n|---|---|"


def test_names_stay_in_their_cells() -> None:
    assert escape_markdown("x | y\nz <b> *c* &amp;") == r"x \| y z &lt;b&gt; \*c\* \&amp;"
