"""Help texts name options as they are typed."""

from btg_seq2seq.options.help import Formatter, with_options

OPTIONS = {"beam_size": "--beam-size", "model.layers": "--model.layers", "rate": "--rate"}
OPTIONS |= {"optimisation.eval_every": "--optimisation.eval-every"}


def test_fields_become_options():
    assert with_options("at most beam_size", "", OPTIONS) == "at most --beam-size"
    assert with_options("see ``rate``", "", OPTIONS) == "see --rate"
    assert with_options("as model.layers says", "", OPTIONS) == "as --model.layers says"
    own = with_options("defaults to ``eval_every``", "optimisation", OPTIONS)
    assert own == "defaults to --optimisation.eval-every"


def test_words_stay_words():
    assert with_options("the rate of a beam", "", OPTIONS) == "the rate of a beam"
    assert with_options("``None`` disables it", "", OPTIONS) == "None disables it"


def test_paragraphs_fit_the_terminal_and_examples_stay():
    text = "Words " * 30 + "\nof a --long-option.\n\n  btg one --option\n  btg two\n\nThe end."
    written = Formatter("btg")._fill_text(text, 40, "")
    assert max(map(len, written.splitlines())) <= 40
    assert "--long-option." in written
    assert "\n\n  btg one --option\n  btg two\n\nThe end." in written
