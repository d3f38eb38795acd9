class Descriptor:
    def __set_name__(self, owner, name):
        raise ValueError(name)


class Owner:
    field = Descriptor()
