# value: absent
list(range(10**6))
