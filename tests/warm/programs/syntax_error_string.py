text = "never closed
print(text)
