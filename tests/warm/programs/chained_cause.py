def parse(text):
    try:
        return int(text)
    except ValueError as error:
        raise RuntimeError("bad number") from error


parse("x")
