import sys

sys.exit("no such luck")
