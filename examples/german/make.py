"""Write the bitext of this example: German sentences in the perfect tense and their translations.

Subject, object and participle are drawn at random. German puts the participle last,
English puts it before the object, so every sentence pair needs one inverted node. ``python
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
    "das Haus": "the house",
    "das alte Haus": "the old house",
    "das Haus am See": "the house by the lake",
    "die Küche": "the kitchen",
    "die Küche meiner Mutter": "my mother's kitchen",
    "den roten Stuhl": "the red chair",
    "den Stuhl im Garten": "the chair in the garden",
    "das Fahrrad": "the bicycle",
    "ein Fahrrad aus Holz": "a wooden bicycle",
    "die kleine Brücke": "the small bridge",
    "die Brücke über den Fluss": "the bridge across the river",
    "den Garten hinter dem Haus": "the garden behind the house",
    "das Dach": "the roof",
    "das Dach der Kirche": "the roof of the church",
    "die neue Schule": "the new school",
    "den Zaun": "the fence",
    "drei rote Boote": "three red boats",
    "das Boot": "the boat",
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
    "gekauft": "bought",
    "verkauft": "sold",
    "gesehen": "seen",
    "gefunden": "found",
    "ganz vergessen": "completely forgotten",
    "in Brand gesetzt": "set on fire",
}
SIZES = {"train": 600, "dev": 100, "test": 100}


def sentence_pairs() -> list[tuple[str, str]]:
    """Return every combination, in the same random order each time."""
    pairs = []
    for subject, thing, participle in product(SUBJECTS, OBJECTS, PARTICIPLES):
        target = (SUBJECTS[subject], PARTICIPLES[participle], OBJECTS[thing])
        pairs.append((" ".join((subject, thing, participle)), " ".join(target)))
    random.Random(0).shuffle(pairs)
    return pairs


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
