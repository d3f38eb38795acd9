# SPDX-License-Identifier: Apache-2.0
"""A9, Y1: names of files, arguments and variables, in every place that accepts them."""

import base64
import json
from pathlib import Path

import pytest

NFC, NFD = "caf\u00e9.txt", "cafe\u0301.txt"
NAMES = [
    "../x", "../../etc/passwd", "a/../../x", "a/../b", "..", ".", "./x", "a/.", "a/..", "a/./b", "/etc/x",
    "/x", "//x", "a//b", "a/", "/", "", "x" * 256, "a/" + "x" * 256, "/".join(["d"] * 2100), "a\nb", "a\tb",
    "a\x1bb", "a\x7fb", "\\x", "..\\..\\x", "a\\b", "C:x", "C:\\x", "c:/x", "con", "CON", "nul.txt", "a/aux",
    "COM1", "lpt9.tar.gz", "prn.", "-x", "-rf", "a/-x", "--help", NFD, "x ", "a /b", "\ud7ff\u0301",
]


def encoded(name):
    return "".join(f"%{byte:02X}" for byte in name.encode())


def is_refused(answer):
    return answer.status in (400, 404, 414, 431)


@pytest.fixture
def session(mallory):
    made = mallory.session()
    yield made
    mallory.ask("DELETE", f"/v1/sessions/{made}")


# Runs with each file: where did it go?
LOOK = "import os\nfor d, s, f in os.walk('/sandbox'): print(d, sorted(f))"


@pytest.mark.parametrize("name", NAMES, ids=[ascii(n[:24]) for n in NAMES])
def test_a9_files_of_a_run(mallory, name):
    files = [{"path": name, "content": "x"}]
    for path, body in (
        ("/v1/execute", {"code": LOOK, "files": files}),
        ("/v1/executions", {"code": LOOK, "files": files}),
        ("/v1/sessions", {"files": files}),
        ("/v1/batch", {"programs": [{"code": LOOK}], "inputs": [{"files": files}]}),
        ("/v1/batch", {"programs": [{"code": LOOK, "files": files}]}),
        ("/v1/policies/check", {"code": LOOK, "files": files}),
        ("/api/sandbox/execute", {"code": LOOK, "files": {name: "x"}}),
    ):
        answer = mallory.ask("POST", path, body)
        assert answer.status == 400, (path, answer.status, answer.body[:400])


@pytest.mark.parametrize("name", NAMES, ids=[ascii(n[:24]) for n in NAMES])
def test_a9_files_of_a_session(mallory, session, name):
    base = f"/v1/sessions/{session}/files/"
    for method, body in (("PUT", b"x"), ("GET", None), ("DELETE", None)):
        for target in {encoded(name), name if name.isascii() and name.isprintable() else encoded(name)}:
            if " " in target or target == "":
                continue
            answer = mallory.ask(method, base + target, body)
            # Without its last part it is another route: the list.
            assert is_refused(answer) or answer.status == 405, (method, target, answer.status)
    assert mallory.ask("GET", base[:-1]).json()["files"] == []


@pytest.mark.parametrize("name", NAMES, ids=[ascii(n[:24]) for n in NAMES])
def test_a9_files_by_mcp(mallory, session, name):
    peer = mallory.mcp()
    assert peer.text("execute_code", code=LOOK, files=[{"path": name, "content": "x"}])[0]
    assert peer.text("execute_code", code=LOOK, session_id=session, files=[{"path": name, "content": "x"}])[0]
    assert peer.text("write_file", session_id=session, path=name, content="x")[0]
    assert peer.text("read_file", session_id=session, path=name)[0]
    assert peer.text("delete_file", session_id=session, path=name)[0]
    assert peer.call("list_files", session_id=session)["structuredContent"]["files"] == []


def test_a9_nul_in_names(mallory, session):
    headers = {"Content-Type": "application/json"}
    body = json.dumps({"code": LOOK, "files": [{"path": "a@b", "content": "x"}]}).replace("@", "\\u0000")
    assert mallory.ask("POST", "/v1/execute", body, headers).status == 400
    body = json.dumps({"code": LOOK, "files": {"a@b": "x"}}).replace("@", "\\u0000")
    assert mallory.ask("POST", "/api/sandbox/execute", body, headers).status == 400
    assert is_refused(mallory.ask("PUT", f"/v1/sessions/{session}/files/a%00b", b"x"))
    assert mallory.mcp().text("write_file", session_id=session, path="a\0b", content="x")[0]


def test_a9_control(mallory, session):
    """Plain names are accepted, and found under that name."""
    peer = mallory.mcp()
    for name in ("a.txt", "data/in.csv", ".hidden", "a-b", "x" * 255, NFC, "..a", "a..", "con.fig/x"[1:]):
        files = [{"path": name, "content": "content of it"}]
        result = mallory.run(f"print(open({name!r}).read())", files=files)
        assert result["stdout"] == "content of it\n", name
        target = f"/v1/sessions/{session}/files/{encoded(name).replace('%2F', '/')}"
        assert mallory.ask("PUT", target, b"content of it").status == 204, name
        assert peer.text("read_file", session_id=session, path=name) == (False, "content of it")
        assert not peer.text("delete_file", session_id=session, path=name)[0]
        assert mallory.ask("GET", target).status == 404


def test_a9_twins(mallory):
    """The same name twice, or a file that another one needs as a directory."""
    for names in (("a", "a"), ("a", "a/b"), ("a/b", "a")):
        files = [{"path": name, "content": "x"} for name in names]
        answer = mallory.ask("POST", "/v1/execute", {"code": LOOK, "files": files})
        assert answer.status == 400, (names, answer.body[:300])


def test_a9_no_file_over_the_program_s_own(mallory):
    """A file of the caller may have the name of the program; the result is a defined one."""
    files = [{"path": name, "content": "print('theirs')"} for name in ("main.py", "sitecustomize.py", "json.py")]
    answer = mallory.ask("POST", "/v1/execute", {"code": "print('ours')", "files": files})
    assert answer.status == 400 or "ours" in answer.json()["stdout"]


LINKS = """
import os
os.symlink('/etc/passwd', 'passwd')
os.symlink('/', 'root')
os.symlink('/proc/self/root', 'procroot')
os.symlink('/proc/1/root', 'initroot')
os.symlink('..', 'up')
os.symlink('.', 'here')
os.symlink('/proc/self/fd', 'fd')
os.symlink('/proc/self/cwd', 'cwd')
os.symlink('/dev/zero', 'zero')
os.symlink('real', 'alias')
os.symlink('loop', 'loop')
os.mkfifo('fifo')
os.mkdir('dir');
open('real', 'w').write('real'); open('mode0', 'w').write('x'); os.chmod('mode0', 0)
import socket
s = socket.socket(socket.AF_UNIX); s.bind('socket')
"""
THROUGH = ["passwd", "root/etc/passwd", "procroot/etc/passwd", "initroot/etc/passwd", "up/etc/passwd",
           "here/real", "fd/0", "fd/1", "cwd/real", "zero", "alias", "loop", "fifo", "dir", "socket",
           "root/tmp/planted", "real/x"]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_a9_planted_links(mallory, session, method):
    mallory.run_in(session, LINKS)
    base = f"/v1/sessions/{session}/files/"
    for name in THROUGH:
        answer = mallory.ask(method, base + name, b"planted" if method == "PUT" else None)
        assert b"root:" not in answer.body and b"nobody:" not in answer.body
        if method == "GET":
            assert is_refused(answer), (name, answer.status, answer.body[:200])
        assert answer.status != 500, (name, answer.body)
    assert mallory.ask("GET", base + "real").body == b"real"
    assert not Path("/tmp/planted").exists()
    # Accepted names stay in the cell: a link is replaced or removed, never followed.
    after = mallory.run_in(session, "import os; print(open('/etc/passwd').read() if "
                                    "os.path.exists('/etc/passwd') else 'none'); print(open('real').read())")
    assert "planted" not in after["stdout"] and after["stdout"].endswith("real\n")


def test_a9_swapped_while_asked(mallory, session):
    """A directory that becomes a link and back, thousands of times, while requests use it."""
    mallory.run_in(session, """
import os, threading, time
os.mkdir('d'); open('d/passwd', 'w').write('own')
os.symlink('/etc', 'l')
def swap():
    while True:
        os.rename('d', 'e'); os.rename('l', 'd'); os.rename('d', 'l'); os.rename('e', 'd')
threading.Thread(target=swap, daemon=True).start()
""")
    seen = set()
    for _ in range(300):
        answer = mallory.ask("GET", f"/v1/sessions/{session}/files/d/passwd")
        assert answer.status in (200, 400, 404), answer.body
        seen.add(answer.body if answer.status == 200 else answer.status)
        answer = mallory.ask("PUT", f"/v1/sessions/{session}/files/d/passwd", b"own")
        assert answer.status in (204, 400, 404), answer.body
    assert b"own" in seen and not [s for s in seen if isinstance(s, bytes) and s != b"own"]


def test_a9_large_and_odd_files(mallory, session):
    """Sparse, growing, many, deep, strangely named: bounded, and answered."""
    mallory.run_in(session, """
import os
with open('sparse', 'wb') as f:
    try: f.truncate(1 << 40)
    except OSError: f.truncate(40 << 20)
for i in range(300): open('many%d' % i, 'w')
os.makedirs('/'.join(['deep'] * 60))
for name in (b'new\\nline', b'\\xff\\xfe', b'quote"', b'\\x1b[31m', '\\u202e'.encode()): open(name, 'w')
""")
    base = f"/v1/sessions/{session}/files"
    listed = mallory.ask("GET", base)
    assert listed.status == 200 and len(listed.json()["files"]) >= 300
    assert b"\x1b" not in listed.body and b"\n" not in listed.body
    answer = mallory.ask("GET", base + "/sparse")
    assert answer.status in (200, 400, 413) and len(answer.body) <= 64 << 20
    # More than its disk holds: refused, and the session continues.
    size = 60 << 20
    statuses = [mallory.ask("PUT", f"{base}/big{i}", b"x" * size).status for i in range(6)]
    assert any(s >= 400 for s in statuses) and 500 not in statuses, statuses
    assert mallory.run_in(session, "print(1)")["stdout"] == "1\n"


def test_a10_archives_are_bytes(mallory, session):
    """An archive is a file like any other: no process on the host opens it."""
    bomb = base64.b64decode("UEsDBBQAAAAIAAAAIQAAAAAAAgAAAAAAAAAWAAAALi4vLi4vLi4vdG1wL2JyaWctemlwAwBQSwECFAAU"
                            "AAAACAAAACEAAAAAAAIAAAAAAAAAFgAAAAAAAAAAAAAAAAAAAAAALi4vLi4vLi4vdG1wL2JyaWctemlw"
                            "UEsFBgAAAAABAAEARAAAADYAAAAAAA==")
    base = f"/v1/sessions/{session}/files"
    assert mallory.ask("PUT", base + "/a.zip", bomb).status == 204
    assert [f["path"] for f in mallory.ask("GET", base).json()["files"]] == ["a.zip"]
    assert mallory.ask("GET", base + "/a.zip").body == bomb
    assert not Path("/tmp/brig-zip").exists()


# --- arguments and variables ------------------------------------------------------------------------

VARIABLES = {
    "LD_PRELOAD": "/sandbox/x.so", "LD_LIBRARY_PATH": "/sandbox", "LD_AUDIT": "/sandbox/x.so",
    "GCONV_PATH": "/sandbox", "GLIBC_TUNABLES": "glibc.malloc.check=3", "PYTHONPATH": "/sandbox",
    "PYTHONSTARTUP": "/sandbox/s.py", "PYTHONHOME": "/sandbox", "PYTHONINSPECT": "1",
    "NODE_OPTIONS": "--require /sandbox/x.js", "BASH_ENV": "/sandbox/e", "ENV": "/sandbox/e",
    "PERL5OPT": "-Mevil", "RUBYOPT": "-revil", "JAVA_TOOL_OPTIONS": "-javaagent:/sandbox/x.jar",
    "IFS": "x", "PATH": "/sandbox",
}


@pytest.mark.parametrize("name", VARIABLES)
def test_y1_variables(mallory, name):
    """Either refused by name, or only the program itself gets them."""
    env = {name: VARIABLES[name]}
    files = [{"path": "s.py", "content": "print('theirs')"}, {"path": "e", "content": "echo theirs"},
             {"path": "x.js", "content": "console.log('theirs')"},
             {"path": "sitecustomize.py", "content": "print('theirs')"}]
    code = {"python": "print('ours')", "javascript": "console.log('ours')", "bash": "echo ours"}
    for language, text in code.items():
        body = {"language": language, "code": text, "env": env, "files": files}
        asked = [("/v1/execute", body), ("/v1/sessions", {k: v for k, v in body.items() if k != "code"})]
        for path, ask in asked:
            answer = mallory.ask("POST", path, ask)
            assert answer.status in (200, 201, 400, 403), answer.body
            if answer.status == 201:
                mallory.ask("DELETE", f"/v1/sessions/{answer.json()['id']}")
            elif answer.status == 200:
                assert answer.json()["stdout"] in ("ours\n", ""), (language, answer.body)


def test_y1_names_of_variables(mallory):
    for name in ("", "A=B", "1A", "A B", "A\nB", "A-B", "BASH_FUNC_x%%", "é", "A" * 129):
        answer = mallory.ask("POST", "/v1/execute", {"code": "1", "env": {name: "x"}})
        assert (answer.status, answer.code) == (400, "invalid_request"), name
    for value in (1, None, ["x"], {"a": 1}, True):
        answer = mallory.ask("POST", "/v1/execute", {"code": "1", "env": {"A": value}})
        assert answer.status == 400, value
    result = mallory.run("import os; print(os.environ['A'])", env={"A": "b=c\nd"})
    assert result["stdout"] == "b=c\nd\n"


def test_y1_dashes(mallory):
    """Arguments that look like options are the program's, not the interpreter's."""
    args = ["-c", "print('theirs')", "--version", "-i", "--", "-", "--eval=1", "", "a b", "$(id)", "`id`", "\n"]
    shown = mallory.run("import sys, json; print(json.dumps(sys.argv[1:]))", args=args)
    assert json.loads(shown["stdout"]) == args
    shown = mallory.run("console.log(JSON.stringify(process.argv.slice(2)))", args=args, language="javascript")
    assert json.loads(shown["stdout"]) == args
    shown = mallory.run("printf '%s|' \"$@\"", args=args[:10], language="bash")
    assert shown["stdout"] == "".join(a + "|" for a in args[:10])


def test_y1_languages_and_globs(mallory):
    for name in ("../python", "python\n", "-python", "/bin/sh", "python;id", "", "p" * 65, "python3 -i"):
        answer = mallory.ask("POST", "/v1/execute", {"code": "1", "language": name})
        assert answer.status == 400, name
    for glob in ("/etc/*", "../*", "/proc/1/*", "~/*", "**/../../*"):
        answer = mallory.ask("POST", "/v1/execute", {"code": "1", "out": [glob]})
        assert answer.status == 400 or answer.json()["files"] == [], glob
