import os
for = 3
