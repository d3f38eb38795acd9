# value: {"answer": 42}
result = {"answer": 42}
print("done")
