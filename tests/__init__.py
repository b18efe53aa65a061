"""The tests of bumble; what must stand in the environment before numpy is loaded stands here."""

import os

# A product of small matrices in two threads takes the CPU twice, for one waits for the other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
