class Missing(Exception):
    """A key that is not there."""


def look(table, key):
    try:
        return table[key]
    except KeyError as problem:
        raise Missing(f"no {key!r} here") from problem


print("before", flush=True)
print(look({"a": 1}, "a"))
look({"a": 1}, "b")
