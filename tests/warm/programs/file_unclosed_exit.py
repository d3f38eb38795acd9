import sys

file = open("out.txt", "w")
file.write("text")


class Holder:
    pass


holder = Holder()
holder.self = holder
holder.file = open("cycle.txt", "w")
holder.file.write("held by a cycle")
sys.exit(1)
