import sys


class Loud:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("gone:", self.name, sorted(k for k, v in globals().items() if v is None))


a = Loud("a")
b = Loud("b")
_c = Loud("c")
sys.exit(3)
