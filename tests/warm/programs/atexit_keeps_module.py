# Functions that are called at the end hold the module that they come from; its objects go all the same.
import atexit
import os


class Loud:
    def __init__(self, name):
        self.name = name

    def __del__(self, write=os.write):
        write(1, self.name.encode() + b"\n")


file = open("left.txt", "w")
file.write("not flushed yet")
kept, _early = Loud("a global"), Loud("an early one")
atexit.register(lambda held=Loud("an argument"): print("first registered", held.name))
atexit.register(print, "second", Loud("another"))


@atexit.register
def last():
    file.write(", then more")
