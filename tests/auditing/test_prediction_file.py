"""Which column is what, and one line where a file cannot be read."""

import re
from pathlib import Path

import numpy as np
import pytest

from fairflac.auditing.prediction_file import PredictionColumns, PredictionFile, read_predictions
from fairflac.errors import UserError


def read(folder: Path, text: str, **columns: object) -> PredictionFile:
    (folder / "p.csv").write_text(text)
    return read_predictions(folder / "p.csv", PredictionColumns(**columns))  # type: ignore[arg-type]


def test_usual_names_are_found(tmp_path: Path) -> None:
    found = read(tmp_path, "Y_True;pred;sex;id\ncat;dog;f;1\ndog;dog;m;2\ncat;cat;f;3\ndog;cat;m;4\n")
    (table,) = found.tables.values()
    assert found.names.classes == ["cat", "dog"] and table.y.tolist() == [0, 1, 0, 1]
    assert table.prediction.tolist() == [1, 1, 0, 0] and list(table.bias) == ["sex"] and not found.scored
    assert found.names.values == {"sex": ["f", "m"]} and found.rows[0] == "line 2, 1"


def test_columns_that_are_named_otherwise(tmp_path: Path) -> None:
    text = "was,old,new,sex,age\n1,1.0,0,f,3\n0,0.0,0,m,3\n"
    found = read(tmp_path, text, label="was", predictions=("old", "new"), attributes=("sex",))
    assert list(found.tables) == ["old", "new"] and list(found.tables["old"].bias) == ["sex"]
    assert found.names.classes == ["0", "1"] and found.tables["old"].prediction.tolist() == [1, 0]  # 1.0 is 1
    turned = read(tmp_path, text, label="was", predictions=("old",), positive="0")
    assert turned.names.classes == ["1", "0"] and turned.tables["old"].y.tolist() == [0, 1]


@pytest.mark.parametrize("prefix", ["", "score_", "p:"])
def test_scores_name_the_class(tmp_path: Path, prefix: str) -> None:
    head = f"label,{prefix}cat,{prefix}dog,sex"
    found = read(tmp_path, f"{head}\ncat,0.2,0.8,f\ndog,0.4,0.6,m\ncat,0.9,0.1,f\n")
    (table,) = found.tables.values()
    assert table.prediction.tolist() == [1, 1, 0] and table.score.tolist() == [0.8, 0.6, 0.9] and found.scored
    assert list(table.bias) == ["sex"]


def test_a_class_that_no_row_has_may_be_predicted(tmp_path: Path) -> None:
    found = read(tmp_path, "label,score_a,score_b,score_c\na,0,3,0\nb,0,1,9\n", score_prefix="score_")
    (table,) = found.tables.values()
    assert found.names.classes == ["a", "b", "c"] and table.prediction.tolist() == [1, 2]
    expected = np.exp([3, 9]) / (np.exp([0, 1]) + np.exp([3, 9]) + np.exp([0, 0]))  # logits, and not shares of 1
    assert table.score == pytest.approx(expected)


def test_what_predict_writes_can_be_read_once_labels_stand_beside_it(tmp_path: Path) -> None:
    found = read(tmp_path, "path,class,probability,label\na.jpg,cat,0.75,dog\nb.jpg,dog,0.5,dog\nc.jpg,cat,1,cat\n")
    (table,) = found.tables.values()
    assert table.score.tolist() == [0.75, 0.5, 1] and found.scored and table.bias == {}
    assert found.rows == ["line 2, a.jpg", "line 3, b.jpg", "line 4, c.jpg"]


def test_scores_that_are_no_probabilities_say_not_how_sure(tmp_path: Path) -> None:
    found = read(tmp_path, "label,a,b\na,0.9,0.8\nb,0.1,0.3\n")
    assert not found.scored and "do not add up" in found.notes[1]


def test_columns_that_make_no_groups_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    rows = "\n".join(f"{i % 2},{i % 2},{i}" for i in range(40))
    assert "40 values for 40 rows" in read(tmp_path, f"label,prediction,seconds\n{rows}").notes[1]
    asked = read(tmp_path, f"label,prediction,seconds\n{rows}", attributes=("seconds",))
    assert list(asked.tables["prediction"].bias) == ["seconds"]


def test_columns_of_one_value_or_with_gaps_make_no_groups(tmp_path: Path) -> None:
    rows = "".join(f"{i % 2},{i % 2},north,{'fm'[i % 2] if i else ''}\n" for i in range(40))
    found = read(tmp_path, f"label,prediction,region,sex\n{rows}")
    assert not found.tables["prediction"].bias
    assert "'region' has 1 value for 40 rows: no groups" in found.notes[1] and "'sex' has gaps" in found.notes[2]


def test_predictions_of_another_model_are_no_attribute(tmp_path: Path) -> None:
    text = "label,prediction,other,sex\na,a,b,f\nb,b,b,f\na,b,a,m\nb,b,a,m\n"
    found = read(tmp_path, text)
    assert list(found.tables["prediction"].bias) == ["sex"] and "'other' holds classes" in found.notes[1]
    assert list(read(tmp_path, text, attributes=("other",)).tables["prediction"].bias) == ["other"]
    smiling = read(tmp_path, "label,prediction,smiling\n0,0,1\n1,1,1\n0,1,0\n1,1,0\n")  # numbers may be anything
    assert list(smiling.tables["prediction"].bias) == ["smiling"]


def test_tables_of_every_kind_say_the_same(tmp_path: Path) -> None:
    import pandas

    scores = {"score_0": [0.25, 0.5, 0.125, 0.75], "score_1": [0.75, 0.5, 0.875, 0.25]}
    frame = pandas.DataFrame({"label": [0, 1, 1, 0], **scores, "sex": ["f", "m", "f", "m"], "tags": [["a"]] * 4})
    frame.to_parquet(tmp_path / "p.parquet")
    frame.to_json(tmp_path / "p.jsonl", orient="records", lines=True)
    for kind, place in (("parquet", "row 0"), ("jsonl", "line 1")):
        found = read_predictions(tmp_path / f"p.{kind}", PredictionColumns())
        (table,) = found.tables.values()
        assert found.names.classes == ["0", "1"] and found.names.values == {"sex": ["f", "m"]}  # a list is no column
        assert table.prediction.tolist() == [1, 0, 1, 0] and table.score.tolist() == [0.75, 0.5, 0.875, 0.75]
        assert found.rows[0] == place
    frame["label"] = [0, 1, None, 0]
    frame.to_parquet(tmp_path / "p.parquet")
    with pytest.raises(UserError, match=r"row 2 of '.*p\.parquet' has nothing in column 'label'"):
        read_predictions(tmp_path / "p.parquet", PredictionColumns())


def test_columns_in_memory() -> None:
    import pandas

    frame = pandas.DataFrame({"label": [0, 1, 1], "prediction": [0.0, 1.0, 0.0], "sex": ["f", "m", "f"]})
    for given in (frame, frame.to_dict("list")):
        (table,) = read_predictions(given, PredictionColumns()).tables.values()
        assert table.prediction.tolist() == [0, 1, 0] and table.bias["sex"].tolist() == [0, 1, 0]
    with pytest.raises(UserError, match="row 1 of 'predictions' has nothing in column 'sex'"):
        read_predictions(
            {"label": [0, 1], "prediction": [1, 1], "sex": ["f", None]}, PredictionColumns(attributes=("sex",))
        )


@pytest.mark.parametrize(
    ("text", "columns", "part"),
    [
        ("", {}, "has no rows"),
        ("label,prediction\n", {}, "has no rows"),
        ("truthful,prediction\n1,1\n", {}, "has no column 'label': its columns are truthful, prediction"),
        ("label,prediction\n1,1\n0,1\n", {"label": "lable"}, "did you mean 'label'?"),
        ("path,label,sex\n1,a,f\n2,b,f\n", {}, "has labels and no predictions"),
        ("label,prediction\na,a\nb,\n", {}, "line 3 of 'P' has nothing in column 'prediction'"),
        (
            "label,prediction,sex\na,a,\nb,b,f\nb,b,f\n",
            {"attributes": ("sex",)},
            "line 2 of 'P' has nothing in column 'sex'",
        ),
        ("label,prediction\n0,0.3\n1,0.8\n", {}, "numbers that are no class, such as 0.3"),
        ("label,prediction\ncat,0\ndog,1\n", {}, "write both in the same way"),
        ("label,prediction\ncat,cat\n", {}, "only the class 'cat'"),
        ("label,a,b\na,x,1\nb,1,y\n", {"score_prefix": ""}, "line 2 of 'P': 'x' in column 'a' is no number"),
        ("label,a,b\na,1,1\nb,1,nan\n", {}, "'nan' in column 'b' is no finite number"),
        ("label,s_a\na,1\nb,1\n", {"score_prefix": "s_"}, "has no column 's_b'"),
        ("label,prediction\na,a\nb,b\n", {"attributes": ("hue",)}, "unknown attribute column 'hue'"),
        ("label,prediction\na,a\nb,b\n", {"predictions": ("other",)}, "unknown prediction column 'other'"),
        ("label,prediction\na,a\nb,b\n", {"positive": "c"}, "unknown class 'c'"),
        ("label,prediction\na,a\nb,b\nc,c\n", {"positive": "c"}, "positive is for two classes"),
        ("label,label\na,a\n", {}, "twice"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, text: str, columns: dict[str, object], part: str) -> None:
    with pytest.raises(UserError, match=re.escape(part.replace("'P'", f"'{tmp_path / 'p.csv'}'"))):
        read(tmp_path, text, **columns)
