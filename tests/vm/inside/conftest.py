# SPDX-License-Identifier: Apache-2.0
"""Selects the files for each user."""

import os

# systemd does not manage a delegated scope: units are tested in the passes of the other users.
collect_ignore = ["test_unit.py"] if os.environ.get("BRIG_VM_AS") == "user-delegated" else []
