adders = [lambda x, n=n: x + n for n in range(3)]
print([f(10) for f in adders])


def counter():
    n = 0

    def step():
        nonlocal n
        n += 1
        return n

    return step


step = counter()
step()
print(step(), step.__closure__[0].cell_contents)
