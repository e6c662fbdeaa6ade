"""``btg translate`` for texts as they are: with markup and placeholders, or whole documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from jsonargparse import Namespace

from btg_seq2seq.console.lines import in_chunks, name_of, read_texts, read_whole
from btg_seq2seq.console.messages import Messages
from btg_seq2seq.console.output import Output
from btg_seq2seq.errors import SentenceError, UsageError, UserError
from btg_seq2seq.options.parser import OptionParser

if TYPE_CHECKING:
    from btg_seq2seq.translation.documents.document import Document
    from btg_seq2seq.translation.documents.markup import Markup
    from btg_seq2seq.translation.rules.rules import RuleSet
    from btg_seq2seq.translation.translation import Translation
    from btg_seq2seq.translation.translator import Translator


def add_document_options(parser: OptionParser) -> None:
    """``--markup`` and ``--document``."""
    parser.add_argument(
        "--markup",
        type=Literal["text", "html", "xml"] | None,
        help="keep placeholders such as {name}, %%s and https://example.org, and put tags back "
        "around their words. text: lines or documents of plain text; html, xml: tags and "
        "references to characters are markup. Sentences with placeholders are translated by cky",
    )
    parser.add_argument(
        "--document",
        type=Literal["lines", "paragraphs"] | None,
        help="the input is one document, which is cut into sentences and put together again with "
        "its white space. lines: a line break ends a sentence; paragraphs: only an empty line "
        "does. With --markup text unless given",
    )


def are_documents(options: Namespace) -> bool:
    """Tell whether texts are to be translated as they are."""
    return options.markup is not None or options.document is not None


def check_document_options(options: Namespace) -> None:
    """Refuse what only fits single sentences."""
    if not are_documents(options):
        return
    option = "--markup" if options.markup is not None else "--document"
    if options.explain or options.nbest > 1 or options.format != "text":
        raise UsageError(
            f"{option} writes the text alone: leave --explain, --nbest and --format out"
        )
    if options.input == "jsonl":
        raise UsageError(f"{option} reads plain text, HTML or XML, not JSON lines")


def write_documents(
    options: Namespace,
    translator: Translator,
    rules: RuleSet,
    output: Output,
    messages: Messages,
    progress: Any,
) -> None:
    """Translate the input, as one document or line by line, and write it."""
    notices = messages.kind()
    for first, documents in _documents(options):
        sentences = [sentence for document in documents for sentence in document.sentences]
        task = progress.add_task("translating", total=len(sentences))
        found: list[Translation] = []
        for chunk in in_chunks(sentences, options.chunk):
            place = f"{name_of(options.file)}: from line {first}"
            if options.document is not None:
                place = name_of(options.file)
            found += _translated(translator, chunk, options.mode, rules, place)
            progress.advance(task, len(chunk))
        for translation in found:
            for message in filter(None, [translation.fallback, *translation.notices]):
                notices.say(f"{translation.source[:40]!r}: {message}")
        texts = []
        for document in documents:
            count = len(document.sentences)
            texts.append(document.write(found[:count]))
            found = found[count:]
        if options.document is not None:
            output.write_text("".join(texts))
        else:
            output.write(texts)
    notices.close()


def _translated(
    translator: Translator, chunk: Any, mode: Any, rules: RuleSet, place: str
) -> list[Translation]:
    from btg_seq2seq.translation.documents.document import translate_sentences

    try:
        return translate_sentences(translator, chunk, mode, rules)
    except SentenceError as error:
        raise UserError(f"{place}: a sentence cannot be translated: {error.reason}") from error


def _documents(options: Namespace) -> Iterator[tuple[int, list[Document]]]:
    """Documents that are translated together, and the number of their first line."""
    from btg_seq2seq.translation.documents.document import Document

    markup: Markup = options.markup or "text"
    language = options.source_language
    if options.document is not None:
        text = read_whole(options.file)
        yield 1, [Document.read(text, markup, options.document, language)]
        return
    for chunk in in_chunks(read_texts(options.file), options.chunk):
        yield (
            chunk[0].number,
            [Document.read(line.text, markup, "none", language) for line in chunk],
        )
