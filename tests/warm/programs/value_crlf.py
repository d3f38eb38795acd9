# value: 4
x = 4
x
