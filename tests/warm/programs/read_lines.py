# stdin: "3 4\n5 6\n\n7 8"
import sys

total = 0
for number, line in enumerate(sys.stdin):
    total += sum(map(int, line.split()))
    print(number, repr(line))
print(total)
