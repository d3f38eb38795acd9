import sys

print("ended by exit")
sys.exit()
