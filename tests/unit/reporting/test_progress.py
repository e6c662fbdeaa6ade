"""Dev sentences at several checkpoints."""

from dataclasses import replace

from made_up_runs import made_up_run, saved
from pictures import example

from btg_seq2seq.reporting.progress import MOST_STAGES, examples_section, most_phrases, stages_of
from btg_seq2seq.reporting.run_files import Example, read_run


def test_equal_evaluations_are_joined(tmp_path):
    run = read_run(made_up_run(tmp_path))
    assert [stage.name for stage in stages_of(run.examples)] == [
        *("step 100", "steps 200 to 300", "step 400")
    ]


def test_few_stages_the_first_and_the_last_among_them():
    made = example([("a", "b")], [0])
    examples = [
        Example(step, 1, "flat", "b", replace(made, text=f"b {step}")) for step in range(50)
    ]
    stages = stages_of(examples[::-1])
    assert len(stages) == MOST_STAGES
    assert (stages[0].first, stages[-1].last) == (0, 49)


def test_pictures_of_several_runs(tmp_path):
    runs = [read_run(made_up_run(tmp_path / name)) for name in ("<one>", "two")]
    text = examples_section(runs, "auto")
    assert text.count("<article") == 6
    assert text.count("<svg") == 4
    assert "&lt;one&gt;" in text
    assert text.count("The parsers had not learned yet.") == 2
    assert most_phrases(runs) == 2


def test_what_cannot_be_drawn(tmp_path):
    lines = list(saved("<script>"))
    lines[3]["derivation"]["phrases"][0]["source_span"] = [3, 900]
    many = example([(f"a{number}", "b") for number in range(30)], list(range(30)))
    lines.append({**lines[0], **many.to_json(), "mode": "cky"})
    text = examples_section([read_run(made_up_run(tmp_path, examples=lines))], "auto")
    assert "The derivation cannot be drawn." in text
    assert "30 phrases" in text
    assert "<script>" not in text


def test_no_examples(tmp_path):
    assert examples_section([read_run(made_up_run(tmp_path, examples=[]))], "auto") == ""
