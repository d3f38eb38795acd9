# value: 65533
result = "x"
len("x" * (64 * 1024 - 3))
