def a(x):
    return b(x) + 1


def b(x):
    return (lambda y: c(y))(x)


def c(x):
    return [int(z) for z in x][0]


class D:
    @property
    def p(self):
        return a(["q"])


D().p
