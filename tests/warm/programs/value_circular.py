# value: absent
a = []
a.append(a)
a
