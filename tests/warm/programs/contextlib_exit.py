import contextlib


@contextlib.contextmanager
def noisy(name):
    print("enter", name)
    try:
        yield name
    finally:
        print("exit", name)


with noisy("a"), contextlib.suppress(ZeroDivisionError), noisy("b"):
    1 / 0
print("after")
