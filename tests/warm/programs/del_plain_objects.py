import weakref


class Plain:
    pass


def bye(name):
    print("finalized", name)


one, two = Plain(), Plain()
weakref.finalize(one, bye, "one")
weakref.finalize(two, bye, "two")
