# value: absent
x = []
for _ in range(5000):
    x = [x]
x
