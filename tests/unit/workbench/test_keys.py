"""Keys of clients."""

import pytest
from tiny_servers import serving

from btg_seq2seq.errors import UserError
from btg_seq2seq.workbench.keys import Keys
from btg_seq2seq.workbench.problems import Problem

KEY, OTHER = "a secret key", "another secret key"


def test_without_keys_everybody_is_let_in():
    keys = Keys()
    assert not keys
    assert keys.check(None) == ""
    assert keys.check(KEY) != keys.check(OTHER)


def test_a_key_is_needed():
    keys = Keys([KEY, OTHER])
    assert keys.check(KEY) != keys.check(OTHER)
    for wrong in (None, "", KEY[:-1], KEY + " ", "\udcff"):
        with pytest.raises(Problem) as caught:
            keys.check(wrong)
        assert caught.value.status == 403
        assert KEY not in caught.value.message


def test_the_name_of_a_client_does_not_tell_its_key():
    assert KEY not in Keys().check(KEY)


def test_every_key_is_compared(monkeypatch):
    compared = []
    monkeypatch.setattr(
        "btg_seq2seq.workbench.keys.hmac.compare_digest",
        lambda first, second: compared.append(1) or first == second,
    )
    Keys([KEY, OTHER]).check(KEY)
    assert len(compared) == 2


def test_keys_are_read_from_a_file(tmp_path):
    path = tmp_path / "keys"
    path.write_text(f"# for the office\n{KEY}\n\n{OTHER}\n", encoding="utf-8")
    assert Keys.read(str(path)).check(OTHER)
    for content, message in (("short\n", "keys:1"), ("# none\n", "has no keys")):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(UserError, match=message):
            Keys.read(str(path))


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": f"Bearer {KEY}"},
        {"Authorization": f"DeepL-Auth-Key {KEY}"},
        {"X-API-Key": KEY},
    ],
)
def test_where_keys_are_found(headers):
    with serving(keys=[KEY]) as client:
        assert client.get("/v1/models").status_code == 403
        assert client.get("/v1/models", headers=headers).status_code == 200
        assert client.get("/v2/usage").json() == {"message": "a key is needed"}
        assert client.get("/health").status_code == 200
        body = {"q": "it", "source": "de", "target": "en"}
        assert client.post("/translate", json=body).status_code == 403
        assert client.post("/translate", json={**body, "api_key": KEY}).status_code == 200
        asked = {"q": "it", "langpair": "de|en"}
        assert client.get("/translate", params=asked).json()["code"] == 403
        assert client.get("/translate", params={**asked, "key": KEY}).status_code == 200
