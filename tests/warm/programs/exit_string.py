import sys

print("to stdout")
sys.exit("to stderr: gr\u00fc\u00dfe")
