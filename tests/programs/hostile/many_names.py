# SPDX-License-Identifier: Apache-2.0
# Attacks the collector of output files: thousands of long names, for as many patterns as are
# allowed. To be run with out = ["**/*a*b*c*d?"] * 100 or similar.
import contextlib
import os
import sys

count = int(sys.argv[1]) if len(sys.argv) > 1 else 100000
made = 0
with contextlib.suppress(OSError):
    for part in range(count // 500 + 1):
        os.makedirs(place := f"{part:03}" + "/" + "abcd" * 50 + "/" + "abcd" * 50)
        for i in range(min(500, count - made)):
            os.close(os.open(f"{place}/{i:03}" + "abc" * 80, os.O_CREAT | os.O_WRONLY))
            made += 1
print(made)
