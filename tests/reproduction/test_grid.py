import pytest

from fairflac.errors import UserError
from fairflac.reproduction.plan import plan
from fairflac.reproduction.published import published, published_names, reduced

TABLES = published_names()[1:]


@pytest.mark.parametrize("name", TABLES)
def test_both_scales_plan_every_cell_that_the_paper_prints(name):
    table = published(name)
    for scale in ("paper", "cpu"):
        grid = plan(table, scale)
        printed = [column.name in row.cells for row in table.rows for column in table.columns]
        planned = [bool(slot.configs) for slots in grid.rows.values() for slot in slots]
        assert planned == printed
        assert len(grid.rows) == len(table.rows)  # no two rows have the same label


@pytest.mark.parametrize("name", TABLES)
def test_the_reduced_scale_trains_less_and_says_so(name):
    paper, cpu = (plan(published(name), scale).configs() for scale in ("paper", "cpu"))
    assert reduced(name).says
    assert sum(config.train.epochs for config in cpu) < sum(config.train.epochs for config in paper) / 5


def test_the_paper_scale_is_the_recipe_with_five_seeds():
    grid = plan(published("table2"), "paper")
    configs = grid.rows["FLAC (CE)"][3].configs
    assert [config.seed for config in configs] == [0, 1, 2, 3, 4]
    assert configs[0].method_options["alpha"] == 10_000  # the paper's, at q = 0.999
    assert configs[0].train.epochs == 80
    assert grid.rows["FLAC (Con.*)"][0].configs[0].train.augment == "rotate-jitter"


def test_narrowed_to_methods_columns_and_seeds():
    grid = plan(published("table2"), "paper", only=["flac", "vanilla"], q=[0.999], seeds=2)
    assert list(grid.rows) == ["Vanilla (CE)", "FLAC (CE)", "FLAC (Con.)", "FLAC (Con.*)"]
    assert [head.name for head in grid.heads] == ["q=0.999"]
    assert len(grid.configs()) == 8
    assert {config.data_options["q"] for config in grid.configs()} == {0.999}


def test_a_q_is_the_one_that_is_printed_at_this_scale_or_else_the_papers():
    assert [
        config.data_options["q"] for config in plan(published("table2"), "cpu", only=["lnl"], q=[0.9]).configs()
    ] == [0.9]
    shown = plan(published("table2"), "cpu", only=["lnl"], q=[0.99])
    assert [head.name for head in shown.heads] == ["q=0.99"]
    assert [head.name for head in plan(published("table2"), "cpu", q=[0.999]).heads] == ["q=0.99"]


@pytest.mark.parametrize(
    ("name", "narrow", "words"),
    [
        ("table2", {"only": ["flc"]}, "did you mean 'flac'"),
        ("table2", {"q": [0.5]}, "unknown column of table2"),
        ("table4", {"q": [0.9]}, "leave out --q"),
    ],
)
def test_what_is_not_there_is_said(name, narrow, words):
    with pytest.raises(UserError, match=words):
        plan(published(name), "cpu", **narrow)


def test_another_variant_than_the_papers_has_no_published_value():
    grid = plan(published("table4"), "cpu", only=["flac-b"])
    assert list(grid.rows) == ["FLAC-B (CE)"]
    assert all(slot.published is None for slot in grid.rows["FLAC-B (CE)"])
    assert {config.method_options["task"] for config in grid.configs()} == {"ce"}


def test_rows_of_several_datasets_follow_their_own_tables():
    race = plan(published("table12"), "cpu").rows["UTKFace (race): FLAC (CE)"][0].configs[0]
    assert race == plan(published("table4"), "cpu").rows["FLAC (CE)"][0].configs[0]
    assert plan(published("table12"), "paper").heads[1].lower_is_better


def test_a_column_with_other_settings_names_the_papers_own():
    heads = plan(published("table2"), "cpu").heads
    assert [(head.name, head.paper_name) for head in heads][::3] == [("q=0.9", "q=0.99"), ("q=0.99", "q=0.999")]
    assert not any(head.paper_name for head in plan(published("table2"), "paper").heads)
