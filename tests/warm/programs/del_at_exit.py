class Loud:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("gone:", self.name, helper is not None and helper())


def helper():
    return "helper is there"


a = Loud("a")
b = Loud("b")
_private = Loud("private")
c = [Loud("in a list")]
cycle = Loud("cycle")
cycle.me = cycle
del cycle
print("end")
