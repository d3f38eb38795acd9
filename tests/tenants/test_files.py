# SPDX-License-Identifier: Apache-2.0
"""Files of sessions, many and large: they take turns, and only their own tenant pays for them."""

import threading
from collections import Counter
from pathlib import Path

import pytest
from callers import cpu_seconds

HOSTILE = Path(__file__).resolve().parent.parent / "programs" / "hostile"
BIG = 64 << 20
READERS = 60


def peak_bytes(pid):
    """Of its memory, and of memory files that it has open."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    raise AssertionError("no VmHWM")


def own_bytes(pid):
    """Of its heap, without files that it has mapped."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) << 10
    raise AssertionError("no RssAnon")


def many(count, work):
    """work(i) in this many threads; returns their results."""
    results = []
    threads = [threading.Thread(target=lambda i=i: results.append(work(i))) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(results) == count
    return results


@pytest.fixture
def session(mallory):
    name = mallory.session()
    yield name
    mallory.ask("DELETE", f"/v1/sessions/{name}")


def test_a_sparse_file_costs_no_memory(house, mallory, session):
    """Each reader had three copies of it on the warden's heap: 3.9 GB for sixty of them."""
    mallory.run_in(session, (HOSTILE / "sparse_file.py").read_text())
    warden = house.server.roles()["warden"]
    before = peak_bytes(warden)
    path = f"/v1/sessions/{session}/files/big"
    answers = many(READERS, lambda _: mallory.ask("GET", path))
    assert Counter(a.status for a in answers).keys() <= {200, 429, 503}
    for answer in answers:
        if answer.status == 200:
            middle = answer.body[32 << 20:][:6]
            assert len(answer.body) == BIG and middle == b"middle"
            assert answer.body.count(0) == BIG - 6
            break
    else:
        raise AssertionError("nobody got it")
    assert peak_bytes(warden) - before < BIG / 2, "the warden has kept files on its heap"


def test_the_front_has_no_copy_of_a_file(house, mallory, session):
    """It copied the whole file into its response at once: 110 ms for 60 MB, for which
    all waited."""
    mallory.run_in(session, (HOSTILE / "sparse_file.py").read_text())
    front = house.server.roles()["front"]
    before = own_bytes(front)
    connection = mallory.begin("GET", f"/v1/sessions/{session}/files/big")
    answer = connection.getresponse()
    assert answer.status == 200 and int(answer.headers["Content-Length"]) == BIG
    assert own_bytes(front) - before < BIG / 4
    connection.close()


def test_files_are_whole_whoever_reads_beside(mallory, session):
    """Slices of many calls in turns: each has its own bytes, up and down."""
    base = f"/v1/sessions/{session}/files"
    texts = [bytes([i]) * ((1 << 20) + 7 * i) for i in range(12)]

    def put_and_get(i):
        put = mallory.ask("PUT", f"{base}/f{i}", texts[i])
        got = mallory.ask("GET", f"{base}/f{i}")
        return put.status == 204 and got.body == texts[i]

    assert all(many(len(texts), put_and_get))
    listed = mallory.ask("GET", base).json()["files"]
    assert [f["path"] for f in listed] == sorted(f"f{i}" for i in range(12))
    assert {f["size"] for f in listed} == {len(text) for text in texts}
    deleted = many(len(texts), lambda i: mallory.ask("DELETE", f"{base}/f{i}").status)
    assert set(deleted) == {204}
    assert mallory.ask("GET", base).json()["files"] == []


def test_an_empty_file(mallory, session):
    path = f"/v1/sessions/{session}/files/empty"
    mallory.run_in(session, "open('empty', 'w').close()")
    answer = mallory.ask("GET", path)
    assert (answer.status, answer.body) == (200, b""), answer.body


def test_a_session_that_ends_meanwhile(mallory):
    """Its readers get the file or an error; nothing hangs, no role ends."""
    session = mallory.session()
    base = f"/v1/sessions/{session}/files"
    assert mallory.ask("PUT", f"{base}/data", bytes(8 << 20)).status == 204

    def work(i):
        if i == 3:
            return mallory.ask("DELETE", f"/v1/sessions/{session}").status
        if i % 2:
            return mallory.ask("PUT", f"{base}/p{i}", bytes(4 << 20)).status
        return mallory.ask("GET", f"{base}/data").status

    assert set(many(16, work)) <= {200, 204, 404, 410, 429, 503}


def test_holes_are_not_copied_by_a_fork(house, mallory, session):
    """Files that cannot fit into the new session are not read: a hole costs its maker nothing."""
    mallory.run_in(session, "for i in range(100): open(str(i), 'w').truncate(60 << 20)")
    before = cpu_seconds(house, "warden")
    answer = mallory.ask("POST", f"/v1/sessions/{session}/fork")
    assert answer.status == 201, answer.body
    mallory.ask("DELETE", f"/v1/sessions/{answer.json()['id']}")
    files = answer.json()["files"]
    assert files["copied"] == 1 and len(files["left"]) == 99
    assert all("disk is full" in one["why"] for one in files["left"])
    assert cpu_seconds(house, "warden") - before < 2
