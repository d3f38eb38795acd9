# SPDX-License-Identifier: Apache-2.0
"""Directories that another user has prepared: the service does not put its socket or its state
there."""

import os
import socket
import stat
import subprocess
import time

import pytest
from conftest import BRIG

STRANGER = 65532


def serve(socket_path, state):
    """Only of starts that fail."""
    done = subprocess.run([BRIG, "serve", "--listen", f"unix:{socket_path}", "--state", str(state)],
                          capture_output=True, text=True, check=False, timeout=60,
                          stdin=subprocess.DEVNULL)
    assert done.returncode != 0, done
    return done.stderr


@pytest.mark.root
@pytest.mark.parametrize("mode", [0o755, 0o777, 0o1777])
def test_a_directory_of_a_stranger(tmp_path, mode):
    """Its owner could replace the socket, and receive the requests of clients."""
    place = tmp_path / "theirs"
    place.mkdir()
    place.chmod(mode)
    os.chown(place, STRANGER, STRANGER)
    said = serve(place / "brig.sock", tmp_path / "state")
    assert "take the socket's place" in said and str(STRANGER) in said, said
    assert list(place.iterdir()) == []


def test_a_directory_that_all_can_write_to(tmp_path):
    place = tmp_path / "open"
    place.mkdir()
    place.chmod(0o777)
    said = serve(place / "brig.sock", tmp_path / "state")
    assert "others may write to" in said and "chmod o-w" in said, said
    assert list(place.iterdir()) == []


def test_like_tmp_is_fine(make_server, tmp_path):
    """No user can take files of another user there."""
    place = tmp_path / "sticky"
    place.mkdir()
    place.chmod(0o1777)
    server = make_server()
    server.socket = str(place / "brig.sock")
    server.start()
    assert stat.S_IMODE(os.stat(server.socket).st_mode) & 0o007 == 0


@pytest.mark.parametrize("make", [
    lambda path: path.symlink_to("/etc/passwd"),
    lambda path: path.write_text("mine"),
    lambda path: path.mkdir(),
    os.mkfifo,
])
def test_what_is_in_the_way_stays(tmp_path, make):
    path = tmp_path / "brig.sock"
    make(path)
    before = os.lstat(path)
    assert "is in the way" in serve(path, tmp_path / "state")
    assert os.lstat(path) == before


def test_a_socket_that_somebody_listens_on_stays(tmp_path):
    path = tmp_path / "brig.sock"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen(1)
        assert "another process listens" in serve(path, tmp_path / "state")
        assert stat.S_ISSOCK(os.lstat(path).st_mode)


@pytest.mark.parametrize("family", [socket.AF_UNIX, socket.AF_INET])
def test_a_socket_that_is_free_in_a_moment_is_waited_for(tmp_path, family):
    """The front of a service that was killed listens until the kernel has ended it."""
    with socket.socket(family) as other:
        other.bind(str(tmp_path / "brig.sock") if family == socket.AF_UNIX else ("127.0.0.1", 0))
        other.listen(1)
        place = other.getsockname()
        listen = f"unix:{place}" if family == socket.AF_UNIX else f"{place[0]}:{place[1]}"
        with subprocess.Popen([BRIG, "serve", "--listen", listen, "--state", tmp_path / "state"],
                              stderr=subprocess.PIPE, text=True) as server:
            time.sleep(0.3)  # it has found the socket by now, or will find it free
            other.close()
            for line in server.stderr:
                if "event=ready" in line:
                    break
            server.terminate()
            assert "event=ready" in line, line
            server.communicate(timeout=30)
            assert server.returncode == 0


@pytest.mark.root
def test_state_of_a_stranger(tmp_path):
    place = tmp_path / "state"
    place.mkdir()
    os.chown(place, STRANGER, STRANGER)
    assert f"belongs to user {STRANGER}" in serve(tmp_path / "brig.sock", place)
    os.chown(place, 0, 0)
    place.chmod(0o777)
    assert "others may write to it" in serve(tmp_path / "brig.sock", place)
    assert list(place.iterdir()) == []


def facts(path):
    found = os.stat(path)
    return found.st_uid, found.st_gid, found.st_mode, found.st_mtime_ns


@pytest.mark.parametrize("name", ["lock", "ledger"])
def test_links_in_the_state_directory(tmp_path, name):
    """Links planted there by the earlier owner are not followed."""
    place, target = tmp_path / "state", tmp_path / "target"
    place.mkdir(mode=0o700)
    (target.write_text if name == "lock" else lambda _: target.mkdir())("theirs")
    (place / name).symlink_to(target)
    before = facts(target)
    assert f"state/{name}" in serve(tmp_path / "brig.sock", place)
    assert facts(target) == before


@pytest.mark.root
def test_a_link_for_the_cache(make_server, tmp_path):
    """The service continues without one."""
    server, target = make_server(), tmp_path / "target"
    target.mkdir()
    os.makedirs(server.state, mode=0o711)
    os.symlink(target, os.path.join(server.state, "cache"))
    before = facts(target)
    server.start()
    assert "event=no-cache" in server.log()
    assert facts(target) == before
