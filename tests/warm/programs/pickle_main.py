import pickle


class Thing:
    def __init__(self, x):
        self.x = x


copy = pickle.loads(pickle.dumps([Thing(3), Thing]))
print(copy[0].x, copy[1] is Thing, Thing)
