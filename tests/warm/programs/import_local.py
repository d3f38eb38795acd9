import json as real

with open("colours.py", "w") as file:
    file.write("RED = 'red'\nprint('imported as', __name__)\n")
import colours
from colours import RED

print(RED, real.dumps({"a": 1}), colours)
