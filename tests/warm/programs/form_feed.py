
print('page')
