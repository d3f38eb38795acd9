# SPDX-License-Identifier: Apache-2.0
"""Frequent actions of a tenant are not logged each time; required entries always are."""

import time

from callers import wait_for

QUESTIONS = 300


def test_questions_for_what_is_not_there(make_house):
    house = make_house("--log-level", "notice")
    mallory = house.tcp("mallory")
    before, start = house.server.log().count("\n"), time.monotonic()
    for i in range(QUESTIONS):
        answer = mallory.ask("GET", f"/v1/sessions/01J9Z3NDEKTSV4RRFFQ69G{i:04d}/files/x")
        assert answer.status == 404, answer.body
    seconds = time.monotonic() - start
    lines = house.server.log().count("\n") - before
    # One a second, and a few of other kinds.
    assert lines <= seconds + 10, house.server.log()


def test_checkpoints_are_logged_at_every_level(make_server):
    for level in ("notice", "error"):
        server = make_server("--log-level", level)
        server.start(ready=level == "notice")
        # The first is of the start; the message that it is ready is below the other level.
        wait_for(lambda: "event=checkpoint" in server.log(), what="a checkpoint")
        assert server.stop() == 0
        assert server.log().count('event=checkpoint text="brig-audit-1 ') >= 2, server.log()
