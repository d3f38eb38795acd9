# stdin: "line 1\nline 2\n\u00fc"
import sys

print(sys.stdin.buffer.read(), sys.stdin.encoding, sys.stdin.name, sys.stdin.isatty())
