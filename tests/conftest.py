"""Settings for the whole suite: one torch thread, and hypothesis draws the same cases every run.

`HYPOTHESIS_PROFILE=thorough pytest` searches further, with fresh cases. With BTG_TEST_MT5_TOKENIZER
set to a directory with mT5's tokenizer, that one is tested too.
"""

import os
import signal

import pytest
import torch
from hypothesis import HealthCheck, settings
from transformers import AutoTokenizer

SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]

settings.register_profile(
    "fast", max_examples=50, derandomize=True, deadline=None, suppress_health_check=SLOW_IS_FINE
)
settings.register_profile(
    "thorough", max_examples=1000, deadline=None, suppress_health_check=SLOW_IS_FINE
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))

torch.set_num_threads(1)

# A shell has background jobs ignore Ctrl-C, and so would the commands that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def mt5():
    """The tokenizer of mT5, as it is on the hub."""
    if "BTG_TEST_MT5_TOKENIZER" not in os.environ:
        pytest.skip("set BTG_TEST_MT5_TOKENIZER to a directory with mT5's tokenizer")
    return AutoTokenizer.from_pretrained(os.environ["BTG_TEST_MT5_TOKENIZER"])
