# value: absent
import sys

result = 5
sys.exit(0)
