import hashlib
import random
import uuid

random.seed(42)
print([random.randrange(100) for _ in range(5)], random.gauss(0, 1))
print(hashlib.sha256(b"brig").hexdigest(), uuid.uuid5(uuid.NAMESPACE_DNS, "example.org"))
