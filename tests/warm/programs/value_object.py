# value: absent
result = 1
object()
