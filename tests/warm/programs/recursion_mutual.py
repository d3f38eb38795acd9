class Tree:
    def __init__(self):
        self.child = self

    def __repr__(self):
        return f"Tree({self.child!r})"


repr(Tree())
