x = 1
print(x)
if x:
    y = '''a
b'''
print(repr(y))
1 / 0
