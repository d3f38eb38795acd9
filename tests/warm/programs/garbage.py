import gc

print(gc.isenabled(), gc.get_threshold(), gc.garbage, gc.callbacks)


class Node:
    def __del__(self):
        print("collected")


node = Node()
node.self = node
del node
gc.collect()
print([x for x in gc.get_objects() if isinstance(x, dict) and "brig" in str(x.get("__name__"))])
