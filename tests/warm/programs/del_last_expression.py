class Loud:
    def __del__(self):
        print("gone")


print("before")
Loud()
