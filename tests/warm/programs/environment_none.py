# env: null
import locale
import os
import sys

print(dict(os.environ), sys.stdout.encoding, sys.getfilesystemencoding(), sys.flags)
print(locale.setlocale(locale.LC_CTYPE), locale.getpreferredencoding())
