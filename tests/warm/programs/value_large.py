# value: absent
"x" * (64 * 1024)
