from pathlib import Path

import pytest

from fairflac.config.run_config import resolve
from fairflac.data import DATASETS
from fairflac.errors import UserError
from fairflac.reproduction.plan import hours, image_passes, jobs_for, plan, seconds, training_images
from fairflac.reproduction.published import published, published_names, reduced

TABLES = published_names()[1:]


@pytest.mark.parametrize("name", TABLES)
def test_both_scales_plan_every_cell_that_the_paper_prints(name):
    table = published(name)
    for scale in ("paper", "cpu"):
        grid = plan(table, scale)
        printed = [column.name in row.cells for row in table.rows for column in table.columns]
        printed += [True] * (len(table.ours) * len(table.columns))
        planned = [bool(slot.configs) for slots in grid.rows.values() for slot in slots]
        assert planned == printed
        assert len(grid.rows) == len(table.rows) + len(table.ours)  # no two rows have the same label


@pytest.mark.parametrize("name", TABLES)
def test_the_reduced_scale_trains_less_and_says_so(name):
    paper, cpu = (plan(published(name), scale).configs() for scale in ("paper", "cpu"))
    assert reduced(name).says
    share = 3 / 5 if name in ("table4", "table12") else 1 / 5  # three seeds of UTKFace, all else as in the paper
    assert sum(config.train.epochs for config in cpu) <= share * sum(config.train.epochs for config in paper)


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
        ("table4", {"q": [0.9]}, "leave out q"),
    ],
)
def test_what_is_not_there_is_said(name, narrow, words):
    with pytest.raises(UserError, match=words):
        plan(published(name), "cpu", **narrow)


def test_rows_of_several_datasets_follow_their_own_tables():
    race = plan(published("table12"), "cpu").rows["UTKFace (race): FLAC (CE)"][0].configs[0]
    assert race == plan(published("table4"), "cpu").rows["FLAC (CE)"][0].configs[0]
    assert plan(published("table12"), "paper").heads[1].lower_is_better


def test_a_column_with_other_settings_names_the_papers_own():
    heads = plan(published("table2"), "cpu").heads
    assert [(head.name, head.paper_name) for head in heads][::3] == [("q=0.9", "q=0.99"), ("q=0.99", "q=0.999")]
    assert not any(head.paper_name for head in plan(published("table2"), "paper").heads)


def test_a_bias_model_comes_before_its_runs_and_once():
    configs = [resolve("biased-digits", method, seed) for method in ("flac", "vanilla") for seed in (0, 1)]
    jobs = jobs_for(configs)
    keys = [job.key for job in jobs]
    assert len(set(keys)) == len(keys) == 5  # the colour model of both seeds is one
    for job in jobs:
        assert job.needs is None or keys.index(job.needs) < keys.index(job.key)
    assert [job.config for job in jobs if job.config.target == "class"] == configs


def test_a_vanilla_bias_model_is_the_vanilla_run_of_that_seed():
    jobs = jobs_for([resolve("biased-mnist", "flac-b", 1), resolve("biased-mnist", "vanilla", 1)])
    assert [job.config.method for job in jobs] == ["vanilla", "flac-b"]
    assert jobs[1].needs == jobs[0].key


def test_views_and_further_networks_count():
    vanilla, flac, contrastive = (
        image_passes(resolve("biased-digits", *method))
        for method in (("vanilla", 0), ("flac", 0, {"task": "ce"}), ("flac", 0, {"task": "supcon"}))
    )
    assert vanilla == 10 * 4000
    assert flac == vanilla and contrastive == 2 * vanilla
    committee = resolve("biased-digits", "gce-committee")
    assert image_passes(committee) == pytest.approx(5 * committee.train.epochs * 4000)


def test_a_measured_step_makes_hours():
    config = resolve("biased-digits", "vanilla")
    assert hours([config, config]) == pytest.approx(2 * seconds(config) / 3600)
    longer = resolve("biased-digits", "vanilla", 0, {"epochs": 20})
    assert seconds(longer) == pytest.approx(2 * seconds(config))  # one measurement serves both


def test_the_size_of_every_dataset_in_a_table_is_known():
    for name in published_names()[1:]:
        for config in plan(published(name), "paper", seeds=1).configs():
            assert image_passes(config) > 0
            assert DATASETS[config.dataset].usual_size or config.data_options["size"]


def test_the_page_on_cost_counts_what_the_plans_have():
    plans = [plan(published(name), "paper") for name in published_names()[1:]]
    runs = {job.key: job.config for grid in plans for job in jobs_for(grid.configs())}.values()
    millions = sum(run.train.epochs * training_images(run) for run in runs) / 1e6
    page = (Path(__file__).parents[2] / "docs" / "scale.md").read_text()
    assert f"| all | {len(runs)} | | | {millions:,.0f} |" in page
