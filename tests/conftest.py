"""Settings of every test process."""

import os
import tempfile

from hypothesis import HealthCheck, settings

from fusesearch.core.cores import cores

# Test processes run side by side: with one thread each they do not wait for one another's.
os.environ["OMP_NUM_THREADS"] = "1"

# Nothing of whoever runs them: no git hook, signature or line end, no service, key or limit.
os.environ.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")
_OF_THE_USER = ("MLFLOW_", "PREFECT_", "OPENAI_", "GITHUB_TOKEN", "FUSESEARCH_CACHE_GB", "FUSESEARCH_RANKER", "FUSESEARCH_RAY")
for _name in [name for name in os.environ if name.startswith(_OF_THE_USER)]:
    del os.environ[_name]

# Tests start hundreds of processes, each of which would compile the project's modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The ranker's index lies in the user's cache, which tests must leave alone.
_CACHE = tempfile.TemporaryDirectory(prefix="fusesearch-tests-")
os.environ["XDG_CACHE_HOME"] = _CACHE.name

# How long an example takes is a matter of the machine and what else it does; fixtures that are shared by examples are folders.
# `make test-all` looks at more examples than `make test`. A test that needs more than others takes a multiple of them.
for _name, _examples in (("few", 15), ("many", 50)):
    settings.register_profile(
        _name, max_examples=_examples, deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )  # fmt: skip
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "few"))


def pytest_xdist_auto_num_workers() -> int:
    """Processes for ``-n auto``: one more than cores, since a quarter of a run waits for servers and other children."""
    return cores() + 1
