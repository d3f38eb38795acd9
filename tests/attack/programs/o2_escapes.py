# SPDX-License-Identifier: Apache-2.0
"""O2: output that a terminal, a log or a parser may take for commands. usage: valid|invalid"""

import sys

ORDERS = "\x1b]0;title\x07\x1b[2J\x1b]52;c;ZXZpbA==\x07\b\r\x00\x7f\u202e bidi \u009b31m \x0e\x0f\x1bc"
TEXT = ORDERS.encode()
if sys.argv[1] == "invalid":
    TEXT += b"\xff\xfe\xc0\x80\xed\xa0\x80\x9b31m"
sys.stdout.buffer.write(TEXT)
sys.stdout.buffer.flush()
sys.stderr.buffer.write(TEXT)
