"""Write the bitext of this example: German sentences in the perfect tense and their translations.

Subject, object, adverbial and participle are drawn at random. German puts the participle last,
English puts it second, so every sentence pair needs one inverted node. ``python
examples/german/make.py`` writes the files beside itself; they are checked in.
"""

import random
from itertools import product
from pathlib import Path

SUBJECTS = {
    "sie hat": "she has",
    "er hat": "he has",
    "wir haben": "we have",
    "ich habe": "I have",
    "die Kinder haben": "the children have",
    "mein Bruder hat": "my brother has",
    "die alte Firma hat": "the old company has",
    "der Nachbar hat": "the neighbour has",
    "meine Eltern haben": "my parents have",
    "die Stadt hat": "the city has",
}
OBJECTS = {
    "das alte Haus": "the old house",
    "das Haus": "the house",
    "die Küche": "the kitchen",
    "den roten Stuhl": "the red chair",
    "das Fahrrad": "the bicycle",
    "die kleine Brücke": "the small bridge",
    "den Garten": "the garden",
    "das Dach": "the roof",
    "die neue Schule": "the new school",
    "den Zaun": "the fence",
    "die Straße": "the street",
    "das rote Boot": "the red boat",
}
ADVERBIALS = {
    "von Grund auf": "from the ground up",
    "im Sommer": "in the summer",
    "mit viel Geduld": "with much patience",
    "ohne Hilfe": "without help",
    "in zwei Tagen": "in two days",
    "am Wochenende": "at the weekend",
    "zum ersten Mal": "for the first time",
    "gestern": "yesterday",
    "": "",
}
PARTICIPLES = {
    "renoviert": "renovated",
    "gebaut": "built",
    "repariert": "repaired",
    "geplant": "planned",
    "geprüft": "checked",
    "gereinigt": "cleaned",
    "gestrichen": "painted",
    "fotografiert": "photographed",
    "gemessen": "measured",
    "gezeichnet": "drawn",
}
SIZES = {"train": 800, "dev": 100, "test": 100}


def sentence_pairs() -> list[tuple[str, str]]:
    """Return every combination, in the same random order each time."""
    pairs = []
    for parts in product(SUBJECTS, OBJECTS, ADVERBIALS, PARTICIPLES):
        subject, thing, adverbial, participle = parts
        target = (SUBJECTS[subject], PARTICIPLES[participle], OBJECTS[thing], ADVERBIALS[adverbial])
        pair = (" ".join(filter(None, parts)), " ".join(filter(None, target)))
        pairs += [pair] * (1 if adverbial else 4)  # a third of the sentences has no adverbial
    random.Random(0).shuffle(pairs)
    return list(dict.fromkeys(pairs))


def main() -> None:
    """Write the training, development and test sets; they share no sentence."""
    pairs, directory = iter(sentence_pairs()), Path(__file__).parent
    for name, size in SIZES.items():
        own = [next(pairs) for _ in range(size)]
        for side, language in enumerate(("de", "en")):
            text = "".join(pair[side] + "\n" for pair in own)
            (directory / f"{name}.{language}").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
