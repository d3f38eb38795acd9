# env: {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
import sys

print(sys.stdout.encoding, sys.stdout.errors)
print("\u00e4")
