# value: [1, 2]
# Tracers see one frame of a module.
import sys

seen = []
sys.settrace(lambda frame, event, arg: seen.append(frame.f_code.co_name))
(lambda: 0)()
sys.settrace(None)
print(seen)
[1, 2]
