# SPDX-License-Identifier: Apache-2.0
"""Facts about the machine on which the benchmark runs."""

import os
import platform
import subprocess


def load():
    return " ".join("%.2f" % value for value in os.getloadavg())


def version_of(command):
    out = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return out.split("\n", maxsplit=1)[0]


def describe():
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return "%s, %d cpus, %s %s" % (model, os.cpu_count(), platform.system(), platform.release())
