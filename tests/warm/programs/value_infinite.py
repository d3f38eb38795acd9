# value: absent
[1.0, float("inf")]
