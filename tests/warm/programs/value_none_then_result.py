# value: [1, 2]
result = (1, 2)
print(result)
