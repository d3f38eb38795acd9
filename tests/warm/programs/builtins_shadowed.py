# value: 5
BaseException = KeyError = print
len = lambda x: 5


def f():
    return len([])


f()
