"""Made-up requests from the OpenAPI description: whatever is sent, the server does not fail.

``BTG_SCHEMA_EXAMPLES`` sets the number of requests per operation; ``make fuzz-serve`` sends many.
"""

import os

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.generation.modes import GenerationMode
from tiny_servers import serving

from btg_seq2seq.workbench.limits import Limits

EXAMPLES = int(os.environ.get("BTG_SCHEMA_EXAMPLES", "4"))
OPERATIONS = 27  # of all APIs


@pytest.fixture(scope="module")
def client():
    with serving(limits=Limits(sentences=4, rules=4, deadline=60.0), hosts=()) as client:
        yield client


def send(client, case):
    """Send a made-up request; texts that no client could send are none."""
    request = case.as_transport_kwargs(base_url="http://localhost")
    wanted = {name: request.get(name) for name in ("method", "url", "headers", "params", "json")}
    body = "content" if isinstance(request.get("data"), bytes | str) else "data"
    try:
        return client.request(**wanted, **{body: request.get("data")}, files=request.get("files"))
    except Exception:  # of the client: errors of the server are answers
        return None


def test_no_request_makes_the_server_fail(client):
    schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    operations = [result.ok() for result in schema.get_all_operations()]
    assert len(operations) >= OPERATIONS
    answered = 0
    for operation in operations:
        cases = st.one_of(
            *(
                operation.as_strategy(generation_mode=mode)
                for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
            )
        )

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        )
        @given(case=cases)
        def check(case):
            nonlocal answered
            response = send(client, case)
            if response is not None:
                answered += 1
                assert response.status_code < 500, (case, response.text)

        check()
    assert answered > EXAMPLES * len(operations) / 2
