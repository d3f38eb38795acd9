# SPDX-License-Identifier: Apache-2.0
"""Options of brig run that change the cell: files, mounts, environment, limits, policies."""

import base64
import hashlib
import json
import os
import subprocess

import pytest

from conftest import BRIG


def test_in(result_of, tmp_path):
    (tmp_path / "data.csv").write_text("1,2\n")
    result, _ = result_of(
        "--in", str(tmp_path / "data.csv"), "--in", f"sub/other={tmp_path / 'data.csv'}",
        "-c", "print(open('data.csv').read(), open('sub/other').read())",
    )
    assert result["stdout"] == "1,2\n 1,2\n\n"


def test_in_with_an_equals_sign(result_of, tmp_path):
    (tmp_path / "a=b").write_text("x")
    result, _ = result_of("--in", str(tmp_path / "a=b"), "-c", "print(open('a=b').read())")
    assert result["stdout"] == "x\n"


def test_files_come_back_in_the_result(result_of, tmp_path):
    code = "open('out/a.bin','wb').write(b'\\0\\1'); open('b.txt','w').write('b'); open('c','w')"
    result, _ = result_of("--out", "*.txt", "-c", code, cwd=tmp_path)
    files = {file["path"]: file for file in result["files"]}
    assert sorted(files) == ["b.txt", "out/a.bin"]
    content = base64.b64decode(files["out/a.bin"]["content_base64"])
    assert content == b"\0\1"
    assert files["out/a.bin"]["sha256"] == hashlib.sha256(content).hexdigest()
    assert files["out/a.bin"]["size"] == 2
    assert os.listdir(tmp_path) == []


def test_out_writes_files(brig, tmp_path):
    code = "open('out/a','w').write('A'); open('b.txt','w').write('B')"
    done = brig("run", "--out", "*.txt", "-c", code, cwd=tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "out" / "a").read_text() == "A"
    assert (tmp_path / "b.txt").read_text() == "B"


def test_out_dir(brig, result_of, tmp_path):
    code = "open('out/a','w').write('A')"
    assert brig("run", "--out-dir", str(tmp_path / "d"), "-c", code).returncode == 0
    assert (tmp_path / "d" / "out" / "a").read_text() == "A"
    result, _ = result_of("--out-dir", str(tmp_path / "e"), "-c", code)
    assert len(result["files"]) == 1
    assert (tmp_path / "e" / "out" / "a").read_text() == "A"


def test_nothing_is_written_unasked(brig, tmp_path):
    done = brig("run", "-c", "open('out/a','w').write('A')", cwd=tmp_path)
    assert done.returncode == 0
    assert os.listdir(tmp_path) == []


def test_existing_files_are_kept(brig, tmp_path):
    (tmp_path / "b.txt").write_text("mine")
    args = ["run", "--out", "b.txt", "-c", "open('b.txt','w').write('new')"]
    done = brig(*args, cwd=tmp_path)
    assert done.returncode == 125
    assert b"--force" in done.stderr
    assert (tmp_path / "b.txt").read_text() == "mine"
    assert brig(*args[:1], "--force", *args[1:], cwd=tmp_path).returncode == 0
    assert (tmp_path / "b.txt").read_text() == "new"


def test_links_are_not_followed(brig, tmp_path):
    (tmp_path / "victim").write_text("precious")
    work = tmp_path / "work"
    work.mkdir()
    (work / "b.txt").symlink_to(tmp_path / "victim")
    (work / "out").symlink_to(tmp_path)
    for force in ([], ["--force"]):
        code = "open('b.txt','w').write('evil'); open('out/new','w').write('evil')"
        brig("run", *force, "--out", "b.txt", "-c", code, cwd=work)
        assert (tmp_path / "victim").read_text() == "precious"
        assert not (tmp_path / "new").exists()


PLANT = """
import os
for name in (".git/hooks/pre-commit", "a/.git/config", "out/.Git/hooks/x", ".bashrc", "ok/run.sh"):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "w") as file:
        file.write("#!/bin/sh\\n")
    os.chmod(name, 0o755)
"""


def test_wildcards_bring_back_nothing_hidden(brig, tmp_path):
    done = brig("run", "--out", "**", "-c", PLANT, cwd=tmp_path)
    assert done.returncode == 0
    assert sorted(os.listdir(tmp_path)) == ["code.py", "ok"]
    assert b"out/.Git/hooks/x first: git would run" in done.stderr


def test_git_directories_are_never_written(brig, tmp_path):
    globs = ["--out", ".git/**", "--out", "**/.git/**", "--out", ".bashrc"]
    done = brig("run", *globs, "--force", "--out-exec", "-c", PLANT, cwd=tmp_path)
    assert done.returncode == 0
    assert os.listdir(tmp_path) == [".bashrc"]
    assert b"files: 3 not written" in done.stderr


def test_files_come_back_without_execute_bits(brig, result_of, tmp_path):
    where = tmp_path / "ok" / "run.sh"
    assert brig("run", "--out", "ok/*", "-c", PLANT, cwd=tmp_path).returncode == 0
    assert where.stat().st_mode & 0o111 == 0
    args = ["--force", "--out-exec", "--out", "ok/*"]
    assert brig("run", *args, "-c", PLANT, cwd=tmp_path).returncode == 0
    assert where.stat().st_mode & 0o100
    result, _ = result_of("--out", "ok/*", "-c", PLANT, cwd=tmp_path)
    assert {file["path"]: file["executable"] for file in result["files"]}["ok/run.sh"] is True


@pytest.mark.parametrize("option", ["--ro", "--rw"])
def test_mounts_with_mounts_beneath_are_refused(tmp_path, option):
    """Files covered by another file system must not become visible."""
    place = tmp_path / "dir" / "a b"
    place.mkdir(parents=True)
    (place / "covered").write_text("secret")
    script = 'mount -t tmpfs none "$1/a b" && exec "$2" run --json "$3" "$1" -- /bin/true'
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, "sh", tmp_path / "dir", os.path.abspath(BRIG),
         option],
        capture_output=True, timeout=60, check=False,
    )
    error = json.loads(done.stdout)["error"]
    assert "another file system is mounted beneath it, at " + str(place) in error["message"]
    assert "by itself" in error["remedy"]


def test_links_in_the_cell_do_not_come_back(result_of):
    code = "import os; os.symlink('/etc/passwd', 'out/l'); os.mkfifo('out/f'); open('out/x','w')"
    result, _ = result_of("-c", code)
    assert [file["path"] for file in result["files"]] == ["out/x"]


def test_changes(brig, result_of, tmp_path):
    (tmp_path / "in.txt").write_text("old")
    (tmp_path / "gone.txt").write_text("old")
    args = [
        "--changes", "--in", str(tmp_path / "in.txt"), "--in", str(tmp_path / "gone.txt"),
        "-c", "import os; open('in.txt','w').write('changed'); os.unlink('gone.txt'); open('n','w')",
    ]
    result, _ = result_of(*args)
    changes = {change["path"]: change["kind"] for change in result["changes"]}
    assert changes == {"in.txt": "modified", "gone.txt": "deleted", "n": "created"}
    assert b"brig: modified: in.txt (7 bytes)" in brig("run", *args).stderr


def test_env(brig):
    code = "import os; print(os.environ.get('A'), os.environ.get('B'), 'C' in os.environ)"
    env = dict(os.environ, B="outer", C="hidden")
    done = brig("run", "--env", "A=x=y", "--env", "B", "-c", code, env=env)
    assert done.stdout == b"x=y outer False\n", done.stderr


def writable_dir(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "f").write_text("from the host")
    # As root the cell has an id of its own: all users may read, and write.
    for path in (tmp_path, data):
        path.chmod(0o777)
    return data


def test_ro(result_of, tmp_path):
    data = writable_dir(tmp_path).resolve()
    code = "print(open('/mnt/data/f').read())\nopen('/mnt/data/new', 'w')"
    result, _ = result_of("--ro", str(data), "-c", code)
    assert result["stdout"] == "from the host\n", result
    assert "Read-only" in result["stderr"]
    assert not (data / "new").exists()


def test_ro_with_a_name(result_of, tmp_path):
    data = writable_dir(tmp_path).resolve()
    result, _ = result_of("--ro", f"other={data}", "-c", "print(open('/mnt/other/f').read())")
    assert result["stdout"] == "from the host\n", result


@pytest.mark.parametrize(
    "option, value, key, expected",
    [
        ("--timeout", "2.5s", "wall_ms", 2500),
        ("--timeout", "3", "wall_ms", 3000),
        ("--cpu-time", "1s", "cpu_ms", 1000),
        ("--cpu", "0.5", "cpu_millicores", 500),
        ("--memory", "64M", "memory_bytes", 64 << 20),
        ("--processes", "10", "processes", 10),
        ("--disk", "1M", "disk_bytes", 1 << 20),
        ("--inodes", "100", "disk_inodes", 100),
        ("--open-files", "20", "open_files", 20),
        ("--file-size", "1K", "file_bytes", 1024),
        ("--stdout", "4K", "stdout_bytes", 4096),
        ("--stderr", "5K", "stderr_bytes", 5120),
    ],
)
def test_limits_reach_the_cell(result_of, option, value, key, expected):
    result, status = result_of(option, value, "-c", "print(1)")
    assert status == 0, result
    assert result["limits"][key] == expected
    assert result_of(f"{option}={value}", "-c", "print(1)")[0]["limits"][key] == expected


def test_policy(result_of):
    result, _ = result_of("--policy", "default", "-c", "print(1)")
    assert result["policy"].startswith("default@")
    assert result["stdout"] == "1\n", result


def test_strict_policy_has_every_layer_or_refuses(brig):
    done = brig("run", "--json", "--policy", "strict", "-c", "print(1)")
    answer = json.loads(done.stdout)
    if "error" in answer:
        # An ordinary user without a delegated cgroup: fail closed, and report the remedy.
        assert (answer["error"]["code"], done.returncode) == ("host", 125)
        assert answer["error"]["remedy"]
        return
    assert answer["policy"].startswith("strict@")
    assert answer["stdout"] == "1\n"
    assert {"seccomp", "landlock", "cgroup-memory", "cgroup-pids"} <= set(answer["layers"])


def test_operators_policy(result_of, tmp_path):
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "small.json").write_text(
        '{ // a comment\n "extends": "default", "description": "small", "limits": { "wall": "2s" } }'
    )
    result, _ = result_of("--config", str(tmp_path), "--policy", "small", "-c", "print(1)")
    assert result["policy"].startswith("small@")
    assert result["limits"]["wall_ms"] == 2000


def test_build_cache(result_of, tmp_path):
    source, word = tmp_path / "x.c", os.urandom(8).hex()  # no earlier pass has stored this one
    source.write_text(f'#include <stdio.h>\nint main(void) {{ return puts("{word}") < 0; }}\n')
    first, _ = result_of(str(source))
    again, _ = result_of(str(source))
    anew, _ = result_of("--no-cache", str(source))
    assert first["stdout"] == again["stdout"] == anew["stdout"] == f"{word}\n"
    assert not first["build_cached"]
    assert not anew["build_cached"]


def test_files_that_are_not_kept_are_told(brig, tmp_path):
    done = brig("run", "-c", "open('out/a','w').write('A')", cwd=tmp_path)
    assert done.stderr == (b"brig: files: 1 of out/ is not kept, out/a first; "
                           b"--out-dir DIR keeps them\n")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("start", ["cold", "warm"])
def test_file_size_has_a_verdict(result_of, start):
    """An interpreter that ignores SIGXFSZ ends with an error of its own."""
    code = "open('big', 'wb').write(bytes(2 << 20))"
    result, status = result_of("--start", start, "--file-size", "1M", "-c", code)
    assert result["status"] == "disk_limit" and status == 117
    assert result["verdict"]["cause"] == "file_size"
    assert result["verdict"]["limit"] == 1 << 20
    result, _ = result_of("--start", start, "--file-size", "1M", "-c", "raise SystemExit(3)")
    assert result["status"] == "failed"
    # Of very many only the newest are checked, and the one that could not grow is among them.
    many = "for i in range(3000): open(str(i), 'w').close()\n"
    result, _ = result_of("--start", start, "--file-size", "1M", "-c", many + code)
    assert result["verdict"]["cause"] == "file_size"


def test_processor_time_follows_the_timeout(result_of):
    result, _ = result_of("--timeout", "60s", "-c", "1")
    assert result["limits"]["cpu_ms"] == 60000
    result, _ = result_of("--timeout", "5s", "-c", "1")
    assert result["limits"]["cpu_ms"] == 30000
    result, _ = result_of("--timeout", "60s", "--cpu-time", "10s", "-c", "1")
    assert result["limits"]["cpu_ms"] == 10000


@pytest.mark.parametrize("size, bytes_", [("512m", 512 << 20), ("1g", 1 << 30), ("64k", 64 << 10)])
def test_small_letters_of_sizes(result_of, size, bytes_):
    result, _ = result_of("--memory", "1g", "--disk", size, "-c", "1")
    assert result["limits"]["disk_bytes"] == bytes_


def test_a_program_of_a_mounted_directory(brig, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "hello").write_text("#!/bin/sh\necho hello from $0\n")
    (tools / "hello").chmod(0o755)
    for option in ("--ro", "--rw"):
        done = brig("run", option, str(tools), "--", "/mnt/tools/hello")
        assert done.stdout == b"hello from /mnt/tools/hello\n", done.stderr
    done = brig("run", "--ro", f"other={tools}", "--", "/mnt/other/hello")
    assert done.stdout == b"hello from /mnt/other/hello\n", done.stderr
    done = brig("run", "--in", str(tools / "hello"), "--", "/sandbox/hello")
    assert done.stdout == b"hello from /sandbox/hello\n", done.stderr
    done = brig("run", "--ro", str(tools), "--", "/mnt/tools/nothing")
    assert done.returncode == 127
    assert done.stderr.startswith(b"brig: the program is not in the cell: /mnt/tools/nothing")


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pack").mkdir()
    (tmp_path / ".hidden").write_text("secret")
    (tmp_path / "helper.py").write_text("number = 42\n")
    (tmp_path / "pack" / "__init__.py").write_text("name = 'pack'\n")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "main.py").write_text("import helper, pack, os\n"
                                      "print(helper.number, pack.name, sorted(os.listdir()))\n")
    return tmp_path


def test_project(brig, project):
    done = brig("run", "--project", str(project / "main.py"))
    assert done.stdout == b"42 pack ['code.py', 'helper.py', 'out', 'pack']\n", done.stderr
    done = brig("run", "--project", "-c", "import helper; print(helper.number)", cwd=project)
    assert done.stdout == b"42\n", done.stderr


def test_a_missing_neighbour_is_named(brig, project):
    done = brig("run", str(project / "main.py"))
    assert done.returncode == 1
    assert b"brig: import: helper.py is next to " in done.stderr
    assert b"--project" in done.stderr
    (project / "other.py").write_text("import nothing_of_the_kind\n")
    done = brig("run", str(project / "other.py"))
    assert b"brig: import" not in done.stderr
    # A program that writes arbitrary output can only have files named that are beside it.
    (project / "liar.py").write_text(
        "import sys; sys.exit(\"No module named '../../etc/passwd'\")\n")
    done = brig("run", str(project / "liar.py"))
    assert b"brig: import" not in done.stderr


def test_project_is_bounded(error_of, tmp_path):
    for i in range(4097):
        (tmp_path / f"f{i}").touch()
    (tmp_path / "main.py").write_text("print(1)\n")
    error, status = error_of("run", "--project", str(tmp_path / "main.py"))
    assert status == 2 and "more than 4096 files" in error["message"]
