from typing import Generic, NamedTuple, TypedDict, TypeVar, get_type_hints

T = TypeVar("T")


class Pair(NamedTuple):
    left: "int"
    right: str = "r"


class Movie(TypedDict, total=False):
    name: str


class Box(Generic[T]):
    item: "T"


print(Pair(1), get_type_hints(Pair), get_type_hints(Movie), Box[int], get_type_hints(Box))
