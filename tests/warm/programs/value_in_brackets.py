# value: [0, 1, 4]
if True:
    n = 3
[
i * i
for i in range(n)
]  # of brackets
