import collections
import sys

words = collections.Counter(word.strip(".,;").lower() for line in sys.stdin for word in line.split())
for word, count in sorted(words.items(), key=lambda item: (-item[1], item[0]))[:5]:
    print(f"{count:3} {word}")
