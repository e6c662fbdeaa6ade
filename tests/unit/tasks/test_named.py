"""Collections of things that users name."""

from dataclasses import dataclass

import pytest

from btg_seq2seq.errors import UserError
from btg_seq2seq.tasks.named import Named


@dataclass(frozen=True, eq=False)
class Fruit:
    name: str


def test_names_are_unique_and_found():
    fruits = Named("fruit")
    apple = Fruit("apple")
    fruits.register(apple)
    fruits.register(apple)  # the same again
    assert fruits.find("apple") is apple
    with pytest.raises(UserError, match="there is another fruit of the name 'apple'"):
        fruits.register(Fruit("apple"))
    with pytest.raises(UserError, match=r"there is no fruit 'aple'.*the fruits are apple"):
        fruits.find("aple")
