"""Text."""
# value: ["Text.", null, "__main__"]
from __future__ import annotations


def f(x: no_such_name):
    """Of f."""


print(f.__annotations__, __doc__)
[__doc__, __package__, __name__]
