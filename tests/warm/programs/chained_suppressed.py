try:
    [][0]
except IndexError:
    raise LookupError("hidden cause") from None
