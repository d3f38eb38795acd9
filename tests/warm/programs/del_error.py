class Bad:
    def __del__(self):
        raise RuntimeError("in a finalizer")


x = Bad()
del x
y = Bad()
print("end")
