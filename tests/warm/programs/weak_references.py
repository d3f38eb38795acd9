import weakref


class Node:
    def __init__(self, name):
        self.name = name


cache = weakref.WeakValueDictionary()
a = Node("a")
cache["a"] = a
print(cache["a"].name, len(cache))
del a
print(len(cache))
print(weakref.ref(Node("gone"))())
