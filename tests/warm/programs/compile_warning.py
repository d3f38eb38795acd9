x = 3
if x is 3:
    print("same", "\d")
assert (x, "always true")
