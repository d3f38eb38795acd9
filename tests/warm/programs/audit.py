import sys

events = []
sys.addaudithook(lambda name, args: events.append(name))
compile("1", "x", "exec")
print(events)
