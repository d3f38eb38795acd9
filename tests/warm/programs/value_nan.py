# value: absent
float("nan")
