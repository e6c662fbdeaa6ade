"""Tokenizers of pretrained families with a handful of pieces, and one with two languages."""

import json

from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import (
    M2M100Tokenizer,
    MarianTokenizer,
    MBart50Tokenizer,
    MBartTokenizer,
    NllbTokenizer,
    PreTrainedTokenizer,
    PreTrainedTokenizerFast,
)

from btg_seq2seq.text import add_segment_tokens

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
PIECES = ["▁", "a", "b", "▁a", "▁b"]


def multilingual(name):
    vocabulary = [(token, 0.0) for token in SPECIAL] + [(piece, -1.0) for piece in PIECES]
    if name == "nllb":
        tokenizer = NllbTokenizer(
            vocab={token: row for row, (token, _) in enumerate(vocabulary)},
            merges=[("▁", "a"), ("▁", "b")],
            src_lang="eng_Latn",
            tgt_lang="deu_Latn",
        )
    else:
        kind = {"mbart": MBartTokenizer, "mbart-50": MBart50Tokenizer}[name]
        tokenizer = kind(vocab=vocabulary, src_lang="en_XX", tgt_lang="de_DE")
    add_segment_tokens(tokenizer)
    return tokenizer


def end_marking_tokenizer(sentences, size):
    """Byte pairs as first published: a mark ends every word."""
    model = models.BPE(unk_token="<unk>", end_of_word_suffix="</w>")
    inner = Tokenizer(model)
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.BpeTrainer(
        vocab_size=size, end_of_word_suffix="</w>", special_tokens=["<unk>"], show_progress=False
    )
    inner.train_from_iterator(sentences, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="<unk>")


def trained_pieces(path, texts):
    """Train a sentencepiece model into a file; the pieces of it that are not special."""
    SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_prefix=str(path.with_suffix("")),
        vocab_size=30,
        hard_vocab_limit=False,
        bos_id=-1,
        minloglevel=2,
    )
    path.with_suffix(".model").rename(path)
    pieces = SentencePieceProcessor(model_file=str(path))
    return [
        pieces.id_to_piece(row)
        for row in range(pieces.get_piece_size())
        if pieces.id_to_piece(row) not in SPECIAL
    ]


def with_sentencepiece(name, directory, sources, targets):
    """The tokenizers of Marian and M2M-100, which are in Python, as their models on the hub."""
    directory.mkdir(exist_ok=True)
    vocabulary = directory / "vocab.json"
    if name == "marian":
        files = [directory / "source.spm", directory / "target.spm"]
        pieces = [trained_pieces(*pair) for pair in zip(files, (sources, targets), strict=True)]
        tokens = ["</s>", "<unk>", *sorted({*pieces[0], *pieces[1]}), "<pad>"]
        kind, arguments = MarianTokenizer, [*files, vocabulary]
    else:
        file = directory / "sentencepiece.bpe.model"
        tokens = [*SPECIAL, *trained_pieces(file, [*sources, *targets])]
        kind, arguments = M2M100Tokenizer, [vocabulary, file]
    vocabulary.write_text(json.dumps({token: row for row, token in enumerate(tokens)}))
    tokenizer = kind(*map(str, arguments))
    tokenizer.save_pretrained(directory)
    return tokenizer


class TwoLanguages(PreTrainedTokenizer):
    """As Marian's: in Python, and not the same for both sides; targets are cut into characters."""

    words = ("<pad>", "</s>", "<unk>", "ab", "cd", "_", "a", "b", "c", "d")
    is_target = False

    def __init__(self):
        super().__init__(pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
        add_segment_tokens(self)

    @property
    def vocab_size(self):
        return len(self.words)

    def get_vocab(self):
        return {word: row for row, word in enumerate(self.words)} | self.added_tokens_encoder

    def _tokenize(self, text, **_):
        if self.is_target:
            return [character for word in text.split() for character in "_" + word]
        return text.split()

    def _convert_token_to_id(self, token):
        return self.words.index(token) if token in self.words else 2

    def _convert_id_to_token(self, index):
        return self.words[index]

    def _switch_to_input_mode(self):
        self.is_target = False

    def _switch_to_target_mode(self):
        self.is_target = True
