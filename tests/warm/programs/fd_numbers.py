import os

with open("a", "w") as a, open("b", "w") as b:
    print(a.fileno(), b.fileno())
r, w = os.pipe()
print(r, w, os.get_inheritable(0))
