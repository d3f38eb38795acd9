import os
print("lost in the buffer")
os.abort()
