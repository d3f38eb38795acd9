import inspect


def documented(a, b=2, *c, **d):
    """Says nothing."""
    return a


class Thing:
    def method(self):
        pass


print(inspect.getsource(documented), inspect.signature(documented))
print(inspect.getsource(Thing), inspect.getsourcefile(Thing) == __file__)
print(inspect.getmodule(Thing))
