# value: 5
x = 2 + \
3
x \
  if x else \
0
