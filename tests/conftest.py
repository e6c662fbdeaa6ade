"""Settings for the whole suite: one torch thread, and hypothesis draws the same cases every run.

`HYPOTHESIS_PROFILE=thorough pytest` searches further, with fresh cases.
"""

import os

import torch
from hypothesis import HealthCheck, settings

SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]

settings.register_profile(
    "fast", max_examples=50, derandomize=True, deadline=None, suppress_health_check=SLOW_IS_FINE
)
settings.register_profile(
    "thorough", max_examples=1000, deadline=None, suppress_health_check=SLOW_IS_FINE
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))

torch.set_num_threads(1)
