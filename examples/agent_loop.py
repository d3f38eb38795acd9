# SPDX-License-Identifier: Apache-2.0
"""An agent that does not trust its model: every attempt is run, and judged by its output.

    PYTHONPATH=clients/python python3 examples/agent_loop.py

The model here is a list of attempts, most of them wrong. A real model would get exactly the printed
text after a failure: the output, why the cell ended it, and the remedy. Expected outputs never
enter the cell, so no program can find them there.
"""

import brig

TASK = "Read numbers from standard input, separated by blanks. Print their median."
CASES = [("3 1 2", 2), ("4 1 3 2", 2.5), ("7", 7)]

ATTEMPTS = [
    # It tries to read network traffic.
    "import socket\n"
    "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n",
    # It loops forever.
    "numbers = [float(word) for word in input().split()]\n"
    "while numbers != sorted(numbers, reverse=True):\n"
    "    numbers.sort()\n"
    "print(numbers[0])\n",
    # It forgets that a list can have an even length.
    "numbers = sorted(float(word) for word in input().split())\n"
    "print(numbers[len(numbers) // 2])\n",
    "import statistics\n"
    "print(statistics.median(float(word) for word in input().split()))\n",
]


def ask_model(attempt, feedback):
    """Replaces a call of a model with the task and the error of its last attempt."""
    return ATTEMPTS[attempt]


def verify(client, code):
    """Returns the error of the code, for its author; None: no error was found."""
    for given, expected in CASES:
        result = client.execute(code, stdin=given, timeout=60, limits={"cpu_ms": 500})
        if not result.ok:
            # The last line of the traceback, then the verdict of the cell.
            return "\n".join([*result.stderr.splitlines()[-1:], f"[{result.why}]"])
        try:
            right = float(result.stdout) == expected
        except ValueError:
            right = False
        if not right:
            return f"for {given!r} it printed {result.stdout.strip()[:80]!r}, which is wrong"
    return None


def main():
    client = brig.Client()
    print(TASK)
    feedback = None
    for attempt in range(len(ATTEMPTS)):
        code = ask_model(attempt, feedback)
        feedback = verify(client, code)
        if feedback is None:
            print(f"attempt {attempt + 1}: passes all {len(CASES)} cases")
            return 0
        # The code wrote a part of it: it must be made harmless for the terminal.
        print(f"attempt {attempt + 1}: {brig.printable(feedback)}")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
