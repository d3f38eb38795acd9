# value: 3
x = 1; y = 2; x + y
