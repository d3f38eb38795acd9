import sys

with open("helper.py", "w") as file:
    file.write("import __main__\nvalue = __main__.early\n")
early = 5
import helper

print(helper.value, helper.__file__ == sys.path[0] + "/helper.py")
