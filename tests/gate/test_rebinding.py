# SPDX-License-Identifier: Apache-2.0
"""T11 under load: names with another address for each query, many at once."""

import collections
import json

PUBLIC, OWN, SECOND, WHOLE6 = "93.184.216.34", "93.184.216.40", "93.184.217.11", "2606:2800:222::77"
PRIVATE, METADATA = "192.168.7.7", "169.254.169.254"
FORBIDDEN = [
    [PRIVATE], ["127.0.0.1"], ["0.0.0.0"], [METADATA], [OWN], [SECOND], [WHOLE6], ["::1"], ["::"],
    ["::ffff:" + PRIVATE], ["::ffff:127.0.0.1"], ["::ffff:0.0.0.0"], ["64:ff9b::192.168.7.7"],
    ["2002:c0a8:707::1"], ["fe80::1"], ["255.255.255.255"], ["224.0.0.1"], ["10.77.0.1"],
    [PRIVATE, "127.0.0.1", SECOND] * 5, [],
]

CODE = """
import collections, concurrent.futures, json, socket
answers = collections.Counter()
def one(i):
    name, port = f"r{i % 4}.flip.test", (80, 8099)[i % 8 == 7]
    try:
        with socket.create_connection((name, port), timeout=60) as s:
            s.sendall(f"GET /{i} HTTP/1.1\\r\\nHost: {name}\\r\\nConnection: close\\r\\n\\r\\n".encode())
            data = b""
            while piece := s.recv(65536):
                data += piece
    except OSError:
        return "reset"
    return "this host" if b"of this host" in data else data[:12].decode()
with concurrent.futures.ThreadPoolExecutor(12) as pool:
    answers.update(pool.map(one, range(240)))
print(json.dumps(answers))
"""


def test_t11_rebinding_under_load(run, world):
    """Only checked addresses are connected to, whatever the next reply is."""
    for i in range(4):
        turned = FORBIDDEN[i:] + FORBIDDEN[:i]
        cycle = [answer for bad in turned for answer in (bad, [PUBLIC], bad + [PUBLIC])]
        world.name(f"r{i}.flip.test", {"cycle": cycle})
    result = run(CODE, "*.flip.test:80,8099", options=["--timeout", "110s"], timeout=150)
    answers = collections.Counter(json.loads(result["stdout"]))
    visits, _ = world.visits()
    assert {visit[0] for visit in visits} == {"::ffff:" + PUBLIC}, visits
    assert answers["this host"] == 0 and answers["HTTP/1.1 200"] > 0, answers
    assert answers["HTTP/1.1 403"] + answers["reset"] > 0, answers
    reached = {entry["address"] for entry in result["network"] if entry["verdict"] == "allowed"}
    assert reached == {PUBLIC}, reached
