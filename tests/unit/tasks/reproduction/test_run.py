"""A run: stages are done once, go on after an interruption, and the test set comes last."""

import json
from dataclasses import replace

import pytest
from checks import refused
from tiny_reproduction import SETTINGS, TASK, tiny_place

from btg_seq2seq.tasks.reproduction import pretraining
from btg_seq2seq.tasks.reproduction import run as run_module
from btg_seq2seq.tasks.reproduction.results import Job, read_result, write_result
from btg_seq2seq.tasks.reproduction.run import is_done, remove, run
from btg_seq2seq.tasks.reproduction.tuning import tune_mode
from btg_seq2seq.tasks.systems import SYSTEMS
from btg_seq2seq.text import Bitext, write_lines
from btg_seq2seq.training.run import train
from btg_seq2seq.translation.translator import Translator

WEIGHTS = "model.safetensors"
PLAIN = Job(TASK, SYSTEMS["seq2seq"], 0)


def test_a_run_and_its_result(tmp_path, monkeypatch):
    place = tiny_place(tmp_path)
    seen = []
    original = Translator.translate
    tests = set(TASK.bitexts(place.data)["test"].source)
    tests -= set(TASK.bitexts(place.data)["dev"].source)

    def watched(self, texts, *arguments, **settings):
        seen.append("test" if tests & set(texts) else "dev")
        return original(self, texts, *arguments, **settings)

    monkeypatch.setattr(Translator, "translate", watched)
    job = Job(TASK, SYSTEMS["taught"], 0)
    assert not is_done(job, place)
    run(job, place)
    assert is_done(job, place)
    assert seen == ["dev"] * (len(seen) - 3) + ["test"] * 3  # once in every mode
    result = read_result(job.result(place.results))
    assert list(result["modes"]) == ["flat", "cky", "rescored"]
    for mode in result["modes"].values():
        assert {"length_normalised", "weights"} <= mode["settings"].keys()
        assert mode["dev"].keys() == {"bleu"}
        assert mode["dev"]["bleu"] >= mode["dev_untuned"]["bleu"]
        assert {"bleu", "chrf"} <= mode["sets"]["test"]["scores"].keys()
        assert "tok:none" in mode["sets"]["test"]["signatures"]["bleu"]
    assert result["sentences"] == {"train": 40, "dev": 4, "test": 6}
    assert result["steps"] == 6
    assert result["parameters"]["model"] > result["parameters"]["seq2seq"] > 0
    assert result["cpu_seconds"]["training"] > 0
    assert result["dev_sentences"] == 4
    assert result["threads"] == 1
    assert result["processor"]
    assert str(tmp_path) not in json.dumps(result)


def test_modes_can_be_added(tmp_path, monkeypatch):
    place = tiny_place(tmp_path)
    job, small = Job(TASK, SYSTEMS["taught"], 0), replace(place, modes=["flat", "cky"])
    run(job, small)
    before = read_result(job.result(place.results))
    assert list(before["modes"]) == ["flat", "cky"]
    assert is_done(job, small)
    assert not is_done(job, place)
    assert is_done(job, replace(place, modes=["flat"]))
    monkeypatch.setattr(run_module, "train", stop)  # what was trained is used
    run(job, replace(place, modes=["flat", "rescored"]))
    after = read_result(job.result(place.results))
    assert list(after["modes"]) == ["flat", "cky", "rescored"]
    assert {mode: after["modes"][mode] for mode in before["modes"]} == before["modes"]


def stop(*_, **__):
    raise KeyboardInterrupt


def half(config, **options):
    """Train for half of the steps, then be interrupted."""
    steps = config.optimisation.steps // 2
    train(replace(config, optimisation=replace(config.optimisation, steps=steps)), **options)
    raise KeyboardInterrupt


def tuned_flat_only(translator, model, dev, mode, *arguments):
    if mode != "flat":
        raise KeyboardInterrupt
    tune_mode(translator, model, dev, mode, *arguments)


@pytest.mark.parametrize(
    ("system", "interruptions"),
    [
        ("seq2seq", [(run_module, "train", half), (run_module, "tune_mode", stop)]),
        ("taught", [(run_module, "train", half), (run_module, "tune_mode", tuned_flat_only)]),
        ("fast-align", [(pretraining, "train", half), (run_module, "train", half)]),
    ],
)
def test_an_interrupted_run_gives_the_same_result(system, interruptions, tmp_path, monkeypatch):
    if system == "fast-align":
        pytest.importorskip("thot")
    job = Job(TASK, SYSTEMS[system], 0)
    whole = tiny_place(tmp_path, SETTINGS.replace("dev_sentences: 4", "dev_sentences: 2"))
    cut = replace(whole, output=tmp_path / "cut", results=tmp_path / "cut" / "results")
    run(job, whole)
    for module, name, interrupted in interruptions:
        with monkeypatch.context() as patched:
            patched.setattr(module, name, interrupted)
            with pytest.raises(KeyboardInterrupt):
                run(job, cut)
    if (job.directory(cut.output) / "trained.json").exists():
        monkeypatch.setattr(run_module, "train", stop)  # it has been done
    run(job, cut)
    first, second = (read_result(job.result(place.results)) for place in (whole, cut))
    assert first["modes"] == second["modes"]
    assert first["steps"] == second["steps"]
    weights = (job.directory(place.output) / "model" / WEIGHTS for place in (whole, cut))
    assert len({path.read_bytes() for path in weights}) == 1


def test_no_held_out_sentence_is_recombined(tmp_path, monkeypatch):
    """CoGnition's cg-test has a further test set, which counts like the others."""
    further = Bitext(["a further sentence"], ["one more"])
    task = replace(TASK, make=lambda directory, seed: TASK.make(directory, seed) | {"cg": further})

    def caught(config, *, bitexts, **_):
        raise InterruptedError(*bitexts.excluded)

    monkeypatch.setattr(run_module, "train", caught)
    place = tiny_place(tmp_path)
    sets = TASK.bitexts(place.data)
    with pytest.raises(InterruptedError) as found:
        run(Job(task, SYSTEMS["recombined"], 0), place)
    held_out = [*sets["dev"].source[:4], *sets["test"].source, *further.source]
    assert set(found.value.args) == set(held_out)


def test_phrase_pairs_come_first(tmp_path):
    place = tiny_place(tmp_path)
    job = Job(TASK, SYSTEMS["trivial-align"], 1)
    run(job, place)
    result = read_result(job.result(place.results))
    assert result["pretraining_steps"] == 3
    assert result["pretraining"]["optimisation"]["steps"] == 3
    assert result["phrase_pairs"] > 40
    assert list(result["modes"]) == ["flat"]
    assert {"pretraining", "training"} <= result["cpu_seconds"].keys()


def test_other_settings_are_refused_unless_a_run_is_removed(tmp_path):
    run(PLAIN, tiny_place(tmp_path))
    other = tiny_place(tmp_path, SETTINGS.replace("hidden_size: 16", "hidden_size: 8"))
    with refused("seq2seq-0.json", "model.hidden_size was 16, is now 8", "--overwrite"):
        is_done(PLAIN, other)
    fewer = tiny_place(tmp_path, SETTINGS.replace("dev_sentences: 4", "dev_sentences: 3"))
    with refused("seq2seq-0.json", "dev_sentences was 4, is now 3"):
        is_done(PLAIN, fewer)
    remove(PLAIN, other)
    assert not is_done(PLAIN, other)
    run(PLAIN, other)
    assert read_result(PLAIN.result(other.results))["config"]["model"]["hidden_size"] == 8


def test_a_run_goes_on_with_the_settings_it_began_with(tmp_path, monkeypatch):
    job = Job(TASK, SYSTEMS["trivial-align"], 0)

    def stop(*_, **__):
        raise InterruptedError

    monkeypatch.setattr(run_module, "pretrain", stop)
    with pytest.raises(InterruptedError):
        run(job, tiny_place(tmp_path))
    for was, now, message in (
        ("dev_sentences: 4", "dev_sentences: 3", "dev_sentences was 4, is now 3"),
        ("steps: 3}", "steps: 2}", "pretraining.optimisation.steps was 3, is now 2"),
        ("kind: word", "kind: bpe", "tokenizer.kind was word, is now bpe"),
    ):
        other = tiny_place(tmp_path, SETTINGS.replace(was, now))
        with refused(
            "trivial-align-0 is a run with other settings or data", message, "--overwrite"
        ):
            run(job, other)


def test_a_run_goes_on_with_the_data_it_began_with(tmp_path, monkeypatch):
    place = tiny_place(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(run_module, "tune_mode", stop)
        with pytest.raises(KeyboardInterrupt):
            run(PLAIN, place)
    test = place.data / "test.tgt"
    before = test.read_text()
    test.write_text(before.replace("\n", " other\n", 1))
    with refused("seq2seq-0 is a run with other settings or data", "the checksum of test was"):
        run(PLAIN, place)
    test.write_text(before)
    run(PLAIN, place)
    assert is_done(PLAIN, place)
    test.write_text(before.replace("\n", " other\n", 1))
    with refused("seq2seq-0.json is a result with other settings or data", "checksum of test"):
        is_done(PLAIN, place)


def test_runs_and_results_of_earlier_versions_have_fewer_settings(tmp_path):
    """They have those of training alone, which are compared."""
    place, other = (
        replace(tiny_place(tmp_path), settings=tiny_place(tmp_path / name, settings).settings)
        for name, settings in (("a", SETTINGS), ("b", SETTINGS.replace("steps: 6", "steps: 5")))
    )
    older = {"config": place.settings.recorded(PLAIN.system, 0)["config"]}
    result = {"task": "tiny", "system": "seq2seq", "seed": 0, "steps": 6, "parameters": {}}
    result |= {"cpu_seconds": {}, "modes": {"flat": {}}}
    write_result(PLAIN.result(place.results), {**result, **older})
    assert is_done(PLAIN, place)
    write_lines(PLAIN.directory(place.output) / "trained.json", [json.dumps(older)])
    for refusing in (is_done, run):
        with refused("optimisation.steps was 6, is now 5"):
            refusing(PLAIN, other)


def test_nothing_of_a_removed_run_is_left(tmp_path):
    place, job = tiny_place(tmp_path), Job(TASK, SYSTEMS["trivial-align"], 0)
    directory = job.directory(place.output)
    run(job, place)
    (directory / "notes.txt").write_text("not of the run")
    remove(job, place)
    assert [path.name for path in directory.iterdir()] == ["notes.txt"]
    assert not is_done(job, place)
    remove(job, place)  # there is nothing to remove


def test_an_interrupted_removal_is_finished_by_the_next_run(tmp_path, monkeypatch):
    place = tiny_place(tmp_path)
    directory = PLAIN.directory(place.output)
    (directory / "model").mkdir(parents=True)
    (directory / "cpu.json").write_text("{}")
    (directory / ".removed" / "translations").mkdir(parents=True)

    def stop(*_, **__):
        raise InterruptedError

    monkeypatch.setattr(run_module, "train", stop)
    with pytest.raises(InterruptedError):
        run(PLAIN, place)
    assert [path.name for path in directory.iterdir()] == ["settings.json"]
