# -*- coding: no-such-thing -*-
print("never")
