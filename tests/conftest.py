"""Settings of every test process."""

import os

# Test processes run side by side: with one thread each they do not wait for one another's.
os.environ.setdefault("OMP_NUM_THREADS", "1")
