"""Settings of every test process."""

import os

from hypothesis import HealthCheck, settings

# Test processes run side by side: with one thread each they do not wait for one another's.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# How long an example takes is a matter of the machine and what else it does; fixtures that are shared by examples are folders.
settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
settings.load_profile("untimed")
