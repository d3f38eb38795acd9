x = 1
print('ÿ')
