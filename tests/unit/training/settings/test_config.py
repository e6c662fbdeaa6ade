"""Settings: from files, command lines and Python, and back."""

from dataclasses import asdict, fields, is_dataclass, replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from btg_seq2seq.evaluation import metrics  # noqa: F401  makes the names of metrics known
from btg_seq2seq.recombination.settings import RecombinationConfig
from btg_seq2seq.training.settings.config import (
    UNIFORM_STEPS,
    DataConfig,
    DecodingConfig,
    ModelConfig,
    TokenizerConfig,
    TrainConfig,
    config_parser,
    load_config,
)
from btg_seq2seq.training.settings.objective import ObjectiveSettings
from btg_seq2seq.training.settings.optimisation import OptimisationConfig

EXAMPLES = Path(__file__).parents[4] / "examples"


def written(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    return path


def test_a_file_and_a_command_line(tmp_path):
    path = written(
        tmp_path,
        "output: runs/one\nmodel: {layers: 3}\noptimisation: {learning_rate: 1e-4, bf16: true}\n",
    )
    arguments = ["--optimisation.learning_rate", "3e-4", "--data.max_length", "null"]
    config = load_config(path, [*arguments, "--optimisation.betas", "[0.9, 0.95]"])
    assert config.output == "runs/one"
    assert config.model == ModelConfig(layers=3)
    assert config.data == DataConfig(max_length=None)
    optimisation = OptimisationConfig(learning_rate=3e-4, bf16=True, betas=(0.9, 0.95))
    assert config.optimisation == optimisation


@settings(max_examples=5)  # making a parser takes its time
@given(
    st.builds(
        TrainConfig,
        output=st.text(st.characters(categories=["L", "N"]), min_size=1),
        data=st.builds(DataConfig, max_length=st.none() | st.integers(2, 9)),
        tokenizer=st.builds(TokenizerConfig, st.sampled_from(["word", "bpe"]), st.none()),
        model=st.builds(ModelConfig, layers=st.integers(1, 9), source_language=st.none()),
        objective=st.builds(
            ObjectiveSettings,
            flat_weight=st.floats(0, 1)
            | st.dictionaries(st.integers(0, 99), st.floats(0, 1), min_size=1),
        ),
        optimisation=st.builds(
            OptimisationConfig,
            learning_rate=st.floats(1e-9, 1),
            batch_tokens=st.none() | st.integers(1, 9),
        ),
        seed=st.integers(0, 99),
    )
)
def test_what_is_saved_runs_again(tmp_path_factory, config):
    directory = tmp_path_factory.mktemp("run")
    config.save(directory)
    assert load_config(directory / "config.yaml") == config
    assert config.differences(config) == []


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (
            "output: a\nmodel: {layer: 3}\n",
            [],
            r"config.yaml: line 2: there is no field model.layer; did you mean model.layers\?",
        ),
        ("output: a\nmodle: {layers: 3}\n", [], "modle"),
        ("output: a\n", ["--model.layer", "3"], "--model.layer"),
        ("output: a\noptimisation: {steps: many}\n", [], "steps"),
        ("output: a\noptimisation: {schedule: sine}\n", [], "schedule"),
        ("seed: 1\n", [], "output"),
        (
            "output: a\nmodel: {flat_weight: 0.3}\n",
            [],
            r"config.yaml: line 2: model.flat_weight is decoding.flat_weight now",
        ),
        ("output: a\n", ["--model.segment-rate", "0.3"], "is --decoding.segment-rate now"),
        ("output: a\ndecoding: {beam_size: 0}\n", [], "line 2: decoding.beam_size must be 1 or"),
    ],
)
def test_what_a_parser_refuses(tmp_path, text, arguments, message):
    with pytest.raises(ValueError, match=message):
        load_config(written(tmp_path, text), arguments)


@pytest.mark.parametrize(
    "path", sorted(EXAMPLES.rglob("*.yaml")), ids=lambda path: str(path.relative_to(EXAMPLES))
)
def test_every_example_is_valid(path):
    config = load_config(path)
    assert config.output.startswith("runs/")
    assert config.differences(load_config(path, ["--seed", "7"])) == [
        f"seed was {config.seed}, is now 7"
    ]


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match=r"nowhere\.yaml"):
        load_config(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize(
    ("section", "values", "message"),
    [
        (DataConfig, {"train_source": "a"}, "data.train_target"),
        (DataConfig, {"train_trees": "a"}, "data.train_segmentations"),
        (DataConfig, {"dev_target": "a"}, "data.dev_source"),
        (DataConfig, {"dev_trees": "a"}, "data.dev_source"),
        (DataConfig, {"max_length": 1}, "max_length must be 2 or more"),
        (OptimisationConfig, {"batch_size": 3, "batch_tokens": 4}, "one of the two"),
        (OptimisationConfig, {"steps": 0}, "steps must be 1 or more"),
        (OptimisationConfig, {"translate_dev_modes": []}, "translate_dev_modes must be"),
        (OptimisationConfig, {"translate_dev_modes": ["cky"] * 2}, "translate_dev_modes must be"),
        (OptimisationConfig, {"clip": -1}, "clip must be 0 or more"),
        (OptimisationConfig, {"learning_rate": 0}, "learning_rate must be more than 0"),
        (ModelConfig, {"backbone": "a", "init_from": "b"}, "not both"),
        (ModelConfig, {"source_language": "de"}, "both"),
        (ModelConfig, {"heads": 0}, "model.heads must be 1 or more"),
        (ModelConfig, {"max_phrase_length": 0}, "model.max_phrase_length must be 1 or more"),
        (ModelConfig, {"dropout": 1.5}, "model.dropout must lie between"),
        (ModelConfig, {"attention_dropout": -1}, "model.attention_dropout must lie between"),
        (ModelConfig, {"activation_dropout": 2}, "model.activation_dropout must lie between"),
        (ModelConfig, {"word_dropout": 2}, "model.word_dropout must lie between"),
        (OptimisationConfig, {"label_smoothing": 2}, "label_smoothing must lie between 0 and 1"),
        (OptimisationConfig, {"ema": 1.0}, "optimisation.ema must lie between 0 and 1"),
        (TokenizerConfig, {"bpe_dropout": 2}, "tokenizer.bpe_dropout must lie between 0 and 1"),
        (TokenizerConfig, {"unigram_alpha": -1}, "tokenizer.unigram_alpha must be a number, 0 or"),
        (TokenizerConfig, {"unigram_alpha": 1, "bpe_dropout": 0.1}, "not both"),
        (DecodingConfig, {"flat_weight": 1.5}, "decoding.flat_weight must lie between"),
        (DecodingConfig, {"segment_rate": 2}, "decoding.segment_rate must lie between"),
        (ObjectiveSettings, {"flat_weight": 1.5}, "objective.flat_weight must lie between"),
    ],
)
def test_values_that_make_no_sense(section, values, message):
    with pytest.raises(ValueError, match=message):
        section(**values)


def test_a_tokenizer_must_fit_the_model():
    with pytest.raises(ValueError, match=r"tokenizer\.path or model\.backbone"):
        TrainConfig("a", tokenizer=TokenizerConfig("pretrained"))
    with pytest.raises(ValueError, match="tokenizer of its own"):
        TrainConfig("a", tokenizer=TokenizerConfig("bpe"), model=ModelConfig("google/mt5-small"))


def test_what_may_change_when_a_run_goes_on():
    here = TrainConfig("a", threads=1, optimisation=OptimisationConfig(steps=5))
    assert here.differences(TrainConfig("b")) == []
    other = TrainConfig("a", seed=2, model=ModelConfig(layers=1))
    assert here.differences(other) == ["model.layers was 6, is now 1", "seed was 0, is now 2"]


@pytest.mark.parametrize(
    ("schedule", "may_change"),
    [("constant", True), ("inverse_sqrt", True), ("linear", False), ("cosine", False)],
)
def test_steps_may_change_unless_the_schedule_depends_on_them(schedule, may_change):
    here, there = (
        TrainConfig("a", optimisation=OptimisationConfig(steps=steps, schedule=schedule))
        for steps in (5, 6)
    )
    differences = here.differences(there)
    if may_change:
        assert differences == []
    else:
        assert len(differences) == 1
        assert "optimisation.steps was 5, is now 6" in differences[0]
        assert schedule in differences[0]


def test_a_teachers_phrases_are_recombined_from_the_start_if_there_is_a_teacher():
    recombination = RecombinationConfig(start=0, found_by="teacher")
    TrainConfig("run", recombination=recombination)
    untaught = ObjectiveSettings(teacher="none")
    with pytest.raises(ValueError, match=r"recombination\.found_by is teacher, but there is none"):
        TrainConfig("run", objective=untaught, recombination=recombination)
    with pytest.raises(ValueError, match=r"compared compares trees that the model finds"):
        TrainConfig("run", recombination=replace(recombination, compared=2))


def test_sentences_are_not_recombined_before_there_are_trees():
    objective = ObjectiveSettings(flat_steps=20, uniform_steps=30)
    TrainConfig("run", objective=objective, recombination=RecombinationConfig(start=51))
    with pytest.raises(ValueError, match=r"recombination\.start is 50, but until step 50"):
        TrainConfig("run", objective=objective, recombination=RecombinationConfig(start=50))
    with pytest.raises(ValueError, match=r"recombination\.start is 0, but until step 0"):
        TrainConfig(
            "run",
            objective=ObjectiveSettings(uniform_steps=0),
            recombination=RecombinationConfig(start=0),
        )


@pytest.mark.parametrize(
    ("sections", "steps"),
    [
        ({}, 0),
        ({"objective": ObjectiveSettings(teacher="none")}, UNIFORM_STEPS),
        (
            {"objective": ObjectiveSettings("paper", {0: 1.0, 9: 0.5}, teacher="none")},
            UNIFORM_STEPS,
        ),
        ({"objective": ObjectiveSettings(uniform_steps=7)}, 7),
        ({"objective": ObjectiveSettings(flat_steps=9, teacher="none")}, 0),
        ({"objective": ObjectiveSettings("gold")}, 0),
        ({"objective": ObjectiveSettings(flat_weight=1)}, 0),
        ({"model": ModelConfig(max_segments=1)}, 0),
        ({"model": ModelConfig("pretrained")}, 0),
        ({"model": ModelConfig(init_from="run")}, 0),
    ],
)
def test_the_parsers_of_random_weights_wait(sections, steps):
    assert TrainConfig("run", **sections).objective.uniform_steps == steps


@pytest.mark.parametrize(
    ("sections", "teacher"),
    [
        ({}, "lexical"),
        ({"objective": ObjectiveSettings(flat_steps=9)}, "lexical"),
        ({"objective": ObjectiveSettings(uniform_steps=7)}, "none"),
        ({"objective": ObjectiveSettings(teacher="none")}, "none"),
        ({"objective": ObjectiveSettings("gold")}, "none"),
        ({"objective": ObjectiveSettings(flat_weight=1)}, "none"),
        ({"model": ModelConfig(max_segments=1)}, "none"),
        ({"model": ModelConfig("pretrained")}, "none"),
        (
            {"model": ModelConfig("pretrained"), "objective": ObjectiveSettings(teacher="lexical")},
            "lexical",
        ),
    ],
)
def test_random_weights_have_a_teacher(sections, teacher):
    assert TrainConfig("run", **sections).objective.teacher == teacher


def test_given_derivations_need_no_teacher():
    with pytest.raises(ValueError, match=r"objective\.teacher is lexical, but the estimator gold"):
        ObjectiveSettings("gold", teacher="lexical")


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"model": ModelConfig(max_segments=1)}, "there are no trees"),
        ({"objective": ObjectiveSettings(flat_weight=1)}, "there are no trees"),
        ({"objective": ObjectiveSettings(flat_weight={4: 1.0, 5: 0.5})}, "there are no trees"),
        ({"objective": ObjectiveSettings("paper")}, "the estimator paper does not learn"),
    ],
)
def test_sentences_are_not_recombined_by_trees_that_nobody_learns(sections, message):
    TrainConfig("run", **sections, recombination=RecombinationConfig(compared=2))
    with pytest.raises(ValueError, match=message):
        TrainConfig("run", **sections, recombination=RecombinationConfig(start=5, compared=2))


def test_files_may_move():
    """What is in them is compared by checksums."""
    run, moved = (
        TrainConfig(
            "run",
            data=DataConfig(*(f"{place}/{name}" for name in ("a", "b", "c", "d", "e", "f", "g"))),
            recombination=RecombinationConfig(exclude=[f"{place}/test"]),
        )
        for place in ("here", "there")
    )
    assert run.differences(moved) == []


@pytest.mark.parametrize(("metric", "may_change"), [("loss", True), ("bleu", False)])
def test_what_the_best_checkpoint_is_chosen_by_may_not_change(metric, may_change):
    here, there = (
        TrainConfig("a", optimisation=OptimisationConfig(metric=metric, translate_dev=count))
        for count in (5, 6)
    )
    assert (here.differences(there) == []) == may_change


@pytest.mark.parametrize(
    ("metric", "greater"),
    [
        *(
            ("loss", False),
            ("cut_loss", False),
            ("flat", False),
            ("phrases", False),
            ("ter", False),
        ),
        *(("bleu", True), ("prior_trees", True)),
    ],
)
def test_which_metric_is_better_if_greater(metric, greater):
    assert OptimisationConfig(metric=metric).greater_is_better == greater


def test_a_metric_of_cky_needs_cky_translations_and_trees():
    both = {"metric": "cky_bleu", "translate_dev_modes": ["flat", "cky"]}
    OptimisationConfig(**both).check_metric(has_trees=False)
    for values, message in (
        ({"metric": "cky_bleu"}, "add cky to optimisation.translate_dev_modes"),
        ({"metric": "bleu", "translate_dev_modes": ["cky"]}, "add flat to"),
        ({**both, "translate_dev": 0}, "set optimisation.translate_dev to more"),
    ):
        with pytest.raises(ValueError, match=message):
            OptimisationConfig(**values).check_metric(has_trees=False)
    for objective in (ObjectiveSettings(flat_weight=1), ObjectiveSettings(flat_steps=10_000)):
        with pytest.raises(ValueError, match="the parsers, which cky needs, learn nothing"):
            TrainConfig("a", objective=objective, optimisation=OptimisationConfig(**both))


def option_names(settings, prefix=""):
    """Names of all fields, those of nested settings too."""
    for field in fields(settings):
        value = getattr(settings, field.name)
        if is_dataclass(value):
            yield from option_names(value, f"{prefix}{field.name}.")
        else:
            yield prefix + field.name


def test_every_field_has_a_help_text(capsys):
    config_parser(prog="btg train").print_help()
    text = " ".join(capsys.readouterr().out.split())
    text = text.replace("+ [", " [")  # lists can be appended to: --option+
    config = TrainConfig("a")
    for option in option_names(config):
        shown = text.rsplit(f"--{option.replace('_', '-')} ", 1)[1].split(" ", 1)[1]
        assert not shown.startswith(("(", "--")), option  # behind its placeholder
    assert yaml.safe_dump(asdict(config))
