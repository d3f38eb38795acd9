# value: absent
result = 1
[1, 2, 3][7]
