import dataclasses
import enum
import pickle
import typing


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass(order=True)
class Point:
    x: int
    y: int = 0
    colour: Colour = dataclasses.field(default=Colour.RED, compare=False)


again = pickle.loads(pickle.dumps(Point(1, 2, Colour.BLUE)))
print(again, again == Point(1, 2), Point.__module__, typing.get_type_hints(Point))
print(sorted([Point(2), Point(1, 5), Point(1)]))
