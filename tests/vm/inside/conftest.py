# SPDX-License-Identifier: Apache-2.0
"""Which files are for whom."""

import os

# Who is in a delegated scope has been left by systemd to itself: units are the other users' passes.
collect_ignore = ["test_unit.py"] if os.environ.get("BRIG_VM_AS") == "user-delegated" else []
