"""The notebook runs from top to bottom."""

import json
from pathlib import Path

import pytest

from btg_seq2seq.drawing.drawing import Drawing

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOK = json.loads((EXAMPLES / "notebook.ipynb").read_text(encoding="utf-8"))
CODE = ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]


@pytest.mark.filterwarnings("ignore::UserWarning")  # a model of three steps obeys as it can
def test_every_cell_runs(monkeypatch, capsys, tmp_path):
    """With fewer steps, so what is printed makes little sense."""
    monkeypatch.chdir(EXAMPLES)  # as Jupyter does
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert sum("steps = 200\n" in cell for cell in CODE) == 1
    values = {}
    for number, cell in enumerate(CODE, 1):
        cell = cell.replace("steps = 200\n", "steps = 3\n")
        exec(compile(cell, f"cell {number}", "exec"), values)
    assert values["ruled"].text
    assert isinstance(values["ruled"].draw(), Drawing)
    shown = capsys.readouterr().out
    assert "refurbished" in shown
    assert "report.html written" in shown


def test_it_was_run_from_top_to_bottom():
    cells = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} == {"stream", "execute_result"}
    assert "she has refurbished the old house" in json.dumps(outputs)
