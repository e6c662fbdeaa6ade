"""A tokenizer like those of GPT-2 and BART: pieces of bytes, and a space that begins a word."""

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from btg_seq2seq.text import add_segment_tokens


def byte_level_tokenizer(texts, size=320):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    names = {"bos": "<s>", "pad": "<pad>", "eos": "</s>", "unk": "<unk>"}
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **{f"{name}_token": token for name, token in names.items()}
    )
    add_segment_tokens(wrapped)
    return wrapped
