class Loud:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("gone:", self.name, "a" in globals())


def f():
    local = Loud("local of the failed function")
    raise ValueError


a = Loud("a")
f()
