"""The objective follows the steps of any trainer."""

from types import SimpleNamespace

from btg_seq2seq.training import BTGObjective, FollowSteps


def test_the_step_is_set_and_taken_back():
    model = SimpleNamespace(objective=BTGObjective())
    callback = FollowSteps()
    for step in (0, 7):
        callback.on_step_begin(None, SimpleNamespace(global_step=step), None, model=model)
        assert model.objective.step == step
    callback.on_train_end(None, SimpleNamespace(global_step=8), None, model=model)
    assert model.objective.step is None


def test_other_objectives_are_left_alone():
    model = SimpleNamespace(objective=object())
    FollowSteps().on_step_begin(None, SimpleNamespace(global_step=3), None, model=model)
    assert not hasattr(model.objective, "step")
