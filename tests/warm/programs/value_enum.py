# value: [2, "b", {"z": 1, "y": [2]}, [1, 2]]
import collections
import enum


class Number(enum.IntEnum):
    TWO = 2


Pair = collections.namedtuple("Pair", "a b")
[Number.TWO, "b", collections.OrderedDict(z=1, y=(2,)), Pair(1, 2)]
