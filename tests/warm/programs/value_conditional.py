# value: absent
if True:
    42
