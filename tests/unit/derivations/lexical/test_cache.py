"""Results kept on disk."""

import numpy as np

from btg_seq2seq.derivations.lexical.cache import Cache

ARRAYS = {"numbers": np.arange(6, dtype=np.int16).reshape(2, 3), "empty": np.zeros(0)}


def test_what_is_kept_is_found_again(tmp_path):
    Cache(tmp_path, ["a", 1]).save("name", ARRAYS)
    found = Cache(tmp_path, ["a", 1]).load("name")
    assert set(found) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)
    assert Cache(tmp_path, ["a", 2]).load("name") is None
    assert Cache(tmp_path, ["a", 1]).load("other") is None
    assert not list(tmp_path.rglob("*.part"))


def test_damage_is_found(tmp_path):
    cache = Cache(tmp_path, 0)
    cache.save("name", ARRAYS)
    (path,) = tmp_path.rglob("*.safetensors")
    content = path.read_bytes()
    for damaged in (b"", content[:-1], content[:9], content[:-3] + b"\x07" + content[-2:]):
        path.write_bytes(damaged)
        assert cache.load("name") is None
    path.write_bytes(content)
    assert cache.load("name") is not None


def test_without_a_directory_nothing_is_kept():
    cache = Cache(None, 0)
    cache.save("name", ARRAYS)
    assert cache.load("name") is None
