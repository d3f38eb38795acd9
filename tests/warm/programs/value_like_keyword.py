# value: 7
def elsewhere(n):
    return n


x = 1
elsewhere(7)
