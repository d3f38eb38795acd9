import os
import sys

print(sys.path[0] == os.path.dirname(os.path.realpath(__file__)), "" in sys.path)
print([p for p in sys.path[1:]])
print(sys.executable, sys.flags, sys.prefix)
print(sorted(k for k in sys.path_importer_cache if k == sys.path[0]))
