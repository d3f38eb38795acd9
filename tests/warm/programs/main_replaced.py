import sys

sys.modules["__main__"] = None
print("still here")
