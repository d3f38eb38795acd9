# value: 3
x = 1
x = 2; y = 1
x + y;
