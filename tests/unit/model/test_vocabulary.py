"""The backbone's special tokens: prompts, segment tokens, tokenizers and languages."""

from types import SimpleNamespace

import pytest
import torch
from tiny_models import (
    VOCABULARY,
    WITH_LANGUAGES,
    assert_near,
    batch_of,
    every_family,
    labels_for_hugging_face,
    tiny_backbone,
    tiny_config,
)
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import MBart50Tokenizer, MBartTokenizer, NllbTokenizer, PreTrainedTokenizerFast

from btg_seq2seq.model.backbone import Backbone
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.text.batches import IGNORED


def test_prompts():
    expected = {
        "t5": (0,), "t5-unscaled": (0,), "mt5": (0,), "bart": (2, 0), "mbart": (37,),
        "mbart-50": (2, 37), "m2m_100": (2, 37), "marian": (38,),
    }  # fmt: skip
    reverse = {**expected, "mbart": (36,), "mbart-50": (2, 36), "m2m_100": (2, 36)}
    for name, prompt in expected.items():
        backbone = tiny_backbone(name)
        assert (backbone.sentence_start, *backbone.prefix) == prompt
        assert backbone.sentence_prompt() == prompt
        assert backbone.sentence_prompt(reverse=True) == reverse[name]
        backbone.add_segment_ids(30, 31)
        languages = name in WITH_LANGUAGES
        assert backbone.phrase_prompt() == ((30, 37) if languages else (30,))
        assert backbone.phrase_prompt(reverse=True) == ((30, 36) if languages else (30,))


def test_shift_right():
    backbone = tiny_backbone("m2m_100")
    labels = torch.tensor([[5, 6, 2], [7, 2, IGNORED]])
    assert backbone.shift_right(labels, 9).tolist() == [[9, 5, 6], [9, 7, 2]]
    assert backbone.shift_right(labels, (2, 37)).tolist() == [[2, 37, 5, 6], [2, 37, 7, 2]]
    labels = torch.tensor([[5, 6, 8, 2], [7, 2, IGNORED, IGNORED]])
    assert backbone.shift_right(labels, 9).tolist() == [[9, 5, 6, 8], [9, 7, 2, 1]]


@every_family
def test_segment_tokens_grow_the_model_and_change_nothing_else(name):
    backbone = tiny_backbone(name)
    input_ids, mask, labels = batch_of(backbone)
    before = backbone.logits(backbone.decode_labels(labels, backbone.encode(input_ids, mask), mask))
    assert not backbone.has_segment_tokens
    with pytest.raises(ValueError, match="add_segment_ids"):
        backbone.phrase_prompt()
    backbone.add_segment_ids(VOCABULARY + 1, VOCABULARY)
    assert backbone.vocabulary_size == VOCABULARY + 2
    assert (backbone.segment_start, backbone.segment_end) == (VOCABULARY + 1, VOCABULARY)
    embeddings = backbone.model.get_input_embeddings().weight
    assert backbone.model.get_output_embeddings().weight is embeddings
    assert len(embeddings) == backbone.model.config.vocab_size == VOCABULARY + 2
    after = backbone.logits(backbone.decode_labels(labels, backbone.encode(input_ids, mask), mask))
    assert after.shape[-1] == VOCABULARY + 2
    assert_near(after[..., :VOCABULARY], before, 1e-5)
    input_ids[0, 0], labels[0, 0] = VOCABULARY, VOCABULARY + 1  # new rows can be read and written
    own = labels_for_hugging_face(name, backbone, labels)
    assert backbone.model(input_ids=input_ids, attention_mask=mask, labels=own).loss.isfinite()
    hidden = backbone.decode_labels(labels, backbone.encode(input_ids, mask), mask)
    assert backbone.token_log_probs(hidden, labels).isfinite().all()


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (30, 30, "differ"),
        (0, 30, "differ"),
        (30, 1, "differ"),
        (-1, 30, "differ"),
        (VOCABULARY, VOCABULARY + 2, "resize"),
        (30, VOCABULARY + 1, "resize"),
    ],
)
def test_segment_tokens_that_cannot_be(start, end, message):
    backbone = tiny_backbone("t5")
    with pytest.raises(ValueError, match=message):
        backbone.add_segment_ids(start, end)
    assert backbone.vocabulary_size == VOCABULARY
    assert not backbone.has_segment_tokens


def tiny_tokenizer(special, size):
    """A word-level tokenizer with ``special`` in front and ``size`` tokens."""
    words = [*special, *(f"w{number}" for number in range(size - len(special)))]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        extra_special_tokens=[word for word in special if word not in ("<pad>", "</s>", "<unk>")],
    )


def test_resize_to_a_tokenizer():
    special = ["<pad>", "</s>", "<unk>", "<seg>", "</seg>"]
    larger = Backbone.load(tiny_config("t5"), tiny_tokenizer(special, VOCABULARY + 3))
    assert larger.vocabulary_size == VOCABULARY + 3
    assert (larger.segment_start, larger.segment_end) == (3, 4)
    smaller = Backbone.load(tiny_config("t5"), tiny_tokenizer(special[:3], 20))
    assert smaller.vocabulary_size == VOCABULARY
    assert not smaller.has_segment_tokens
    with pytest.raises(ValueError, match="pad_token_id is 1 in the tokenizer but 0"):
        smaller.resize(tiny_tokenizer(["</s>", "<pad>", "<unk>"], 20))


@pytest.mark.parametrize(
    ("name", "tokenizer_class", "source", "target"),
    [
        ("mbart", MBartTokenizer, "en_XX", "de_DE"),
        ("mbart-50", MBart50Tokenizer, "uk_UA", "de_DE"),
        ("m2m_100", NllbTokenizer, "eng_Latn", "deu_Latn"),
    ],
)
def test_languages_by_their_codes(name, tokenizer_class, source, target):
    tokenizer = tokenizer_class()  # no words, but all languages
    backbone = Backbone.load(tiny_config(name), tokenizer)
    backbone.add_segment_ids(*tokenizer.convert_tokens_to_ids(["<mask>", "<unk>"]))
    backbone.set_languages(source, target, tokenizer)
    assert backbone.sentence_prompt()[-1] == tokenizer.convert_tokens_to_ids(target)
    assert backbone.sentence_prompt(reverse=True)[-1] == tokenizer.convert_tokens_to_ids(source)
    assert backbone.phrase_prompt()[-1] == backbone.sentence_prompt()[-1]
    with pytest.raises(ValueError, match=f"no language 'xx'.*{target}"):
        backbone.set_languages("xx", target, tokenizer)
    with pytest.raises(ValueError, match="tokenizer is needed"):
        backbone.set_languages(source, target)


def test_languages_by_a_table():
    backbone = Backbone.load(tiny_config("m2m_100"))
    backbone.set_languages("de", "fr", SimpleNamespace(lang_code_to_id={"fr": 30, "de": 31}))
    assert backbone.sentence_prompt() == (2, 30)
    assert backbone.sentence_prompt(reverse=True) == (2, 31)


def test_languages_that_cannot_be():
    backbone = Backbone.load(tiny_config("mbart"))
    with pytest.raises(ValueError, match="set_languages"):
        backbone.sentence_prompt()
    backbone.add_segment_ids(30, 31)  # does not need to know how a sentence starts
    with pytest.raises(ValueError, match="resize"):
        backbone.set_languages(VOCABULARY, 3)
    with pytest.raises(ValueError, match="marian"):
        tiny_backbone("marian").set_languages(3, 4)


def test_a_checkpoint_made_for_one_target_language(tmp_path):
    backbone = Backbone.load(tiny_config("mbart-50"))
    assert backbone.sentence_prompt() == (2,)
    backbone.model.generation_config.forced_bos_token_id = 35
    model = BTGSeq2Seq.from_backbone(backbone.model)
    assert model.backbone.sentence_prompt() == (2, 35)
    assert model.backbone.lacks_language  # nothing says what it reads
    model.save_pretrained(tmp_path)
    assert BTGSeq2Seq.from_pretrained(tmp_path).backbone.sentence_prompt() == (2, 35)
