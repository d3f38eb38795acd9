# SPDX-License-Identifier: Apache-2.0
# Attacks other tenants: counters of the whole host, by which one cell could send another a secret.
import errno
import os

NAMES = ["softnet_stat", "sockstat", "sockstat6", "protocols", "ptype", "rt_cache", "rt_acct",
         "stat/rt_cache"]


def read(path):
    try:
        with open(path, "rb") as file:
            return f"read {len(file.read())}"
    except OSError as error:
        return errno.errorcode[error.errno]


for name in NAMES:
    for place in ("/proc/self/net", "/proc/thread-self/net", f"/proc/self/task/{os.getpid()}/net"):
        print(f"{name} {place.split('/')[2]}{place.count('/')}={read(f'{place}/{name}')}")
    try:
        os.chmod(f"/proc/self/net/{name}", 0o444)
        print(f"{name} chmod=OK")
    except OSError as error:
        print(f"{name} chmod={errno.errorcode[error.errno]}")
for name in ("dev", "tcp", "unix", "if_inet6"):
    print(f"{name}={read(f'/proc/self/net/{name}').split()[0]}")
