"""Tokenizers of multilingual families with a handful of pieces, and one with two languages."""

from transformers import MBart50Tokenizer, MBartTokenizer, NllbTokenizer, PreTrainedTokenizer

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
