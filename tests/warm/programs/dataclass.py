# value: [{"x": 1, "y": 2}, [3, 4]]
from dataclasses import asdict, astuple, dataclass, field


@dataclass(order=True)
class Point:
    x: int
    y: int = 0
    tags: list = field(default_factory=list, compare=False, repr=False)


print(sorted([Point(2, 1), Point(1, 9)]), Point.__module__)
[dict(x=Point(1, 2).x, y=Point(1, 2).y), astuple(Point(3, 4))[:2]]
