# value: absent
b"bytes are not JSON"
