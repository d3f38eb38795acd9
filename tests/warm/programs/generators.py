def count(n):
    try:
        while n:
            got = yield n
            n = n - 1 if got is None else got
    finally:
        print("closed")


g = count(3)
print(next(g), g.send(10), next(g))
rest = [x for x in count(2)]
print(rest)


def delegate():
    result = yield from (x * x for x in range(3))
    return result


print(list(delegate()))
left_open = count(5)
next(left_open)
