# SPDX-License-Identifier: Apache-2.0
"""The build cache: compiled once, and no user can replace another's entry."""

import json
import os
import shutil

import pytest


@pytest.fixture
def built(brig):
    """A program of the test, its entry in the cache, and a way to run it again."""
    before = brig.entries()
    source = brig.dir / "code.c"
    source.write_text("#include <stdio.h>\n"
                      f"int main(void) {{ puts(\"mine\"); return 0; }} // {brig.dir}\n")

    class Built:
        cache = brig.cache / "build"

        def run(self, *options):
            result = brig.result(*options, source)
            assert (result["status"], result["stdout"]) == ("ok", "mine\n"), result
            return result

        def new(self):
            return brig.entries() - before

    it = Built()
    assert not it.run()["build_cached"]
    assert len(it.new()) == 1
    it.entry = it.new().pop()
    assert it.run()["build_cached"]
    yield it
    if it.entry.is_dir():
        it.entry.rmdir()


def rebuilt(built, kept=True):
    """An invalid entry is not used; afterwards there is a valid entry again."""
    assert not built.run()["build_cached"]
    assert built.run()["build_cached"] == kept


def test_for_nobody_else(built, brig):
    assert built.entry.stat().st_mode & 0o777 == 0o600
    assert built.cache.stat().st_mode & 0o777 == 0o700
    assert built.entry.stat().st_uid == os.geteuid()
    looks = brig.python(
        f"import os\nfor path in {[str(built.entry), str(built.cache), str(brig.cache)]!r}:\n"
        "    try: print(os.stat(path))\n    except OSError as error: print(error.errno)\n")
    assert looks["stdout"] == "2\n" * 3, "a cell sees the cache"


@pytest.mark.parametrize("place", [0, 8, 40, 72, 76, 100, -1])
def test_flipped_byte(built, place):
    data = bytearray(built.entry.read_bytes())
    data[place] ^= 1
    built.entry.write_bytes(data)
    rebuilt(built)


@pytest.mark.parametrize("size", [0, 1, 8, 71, 72, 75, 76, 100, -1])
def test_torn(built, size):
    data = built.entry.read_bytes()
    built.entry.write_bytes(data[:size])
    rebuilt(built)


def test_more_than_was_written(built):
    built.entry.write_bytes(built.entry.read_bytes() + b"x")
    rebuilt(built)


def test_link(built, tmp_path):
    """Even to a valid entry: the target of a link can belong to another user."""
    shutil.copy(built.entry, tmp_path / "good")
    built.entry.unlink()
    built.entry.symlink_to(tmp_path / "good")
    rebuilt(built)
    assert not built.entry.is_symlink()


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_writable_by_others(built, mode):
    built.entry.chmod(mode)
    rebuilt(built)


@pytest.mark.root
def test_of_somebody_else(built):
    os.chown(built.entry, 1234, 1234)
    rebuilt(built)


def test_fifo(built):
    built.entry.unlink()
    os.mkfifo(built.entry, 0o600)
    rebuilt(built)


def test_directory(built):
    built.entry.unlink()
    built.entry.mkdir(mode=0o700)
    rebuilt(built, kept=False)


def test_huge(built):
    """Sparse, and larger than any entry: not read."""
    os.truncate(built.entry, 1 << 40)
    rebuilt(built)


@pytest.mark.user
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_directory_that_others_can_write(built, mode):
    built.cache.chmod(mode)
    assert not built.run()["build_cached"]
    built.cache.chmod(0o700)
    assert built.run()["build_cached"]


@pytest.mark.user
def test_directory_behind_a_link(built, tmp_path):
    built.cache.rename(tmp_path / "elsewhere")
    built.cache.symlink_to(tmp_path / "elsewhere")
    assert not built.run()["build_cached"]
    built.cache.unlink()
    (tmp_path / "elsewhere").rename(built.cache)
    assert built.run()["build_cached"]


@pytest.mark.user
def test_cache_that_cannot_be_written(brig):
    brig.cache.parent.mkdir(parents=True)
    brig.cache.parent.chmod(0o500)
    for _ in range(2):
        result = brig.result("--lang", "c", "-c", "int main(void) { return 0; }")
        assert (result["status"], result["build_cached"]) == ("ok", False)
    brig.cache.parent.chmod(0o700)


def test_no_cache(built):
    assert not built.run("--no-cache")["build_cached"]
    assert len(built.new()) == 1


def test_what_it_was_made_from(built, brig):
    """Another header is another program, though the source is the same."""
    source, header = brig.dir / "uses.c", brig.dir / "value.h"
    source.write_text('#include <stdio.h>\n#include "value.h"\n'
                      f"int main(void) {{ printf(\"%d\\n\", VALUE); }} // {brig.dir}\n")
    for value in (1, 2, 1):
        header.write_text(f"#define VALUE {value}\n")
        result = brig.result("--in", header, source)
        assert result["stdout"] == f"{value}\n", result
    assert result["build_cached"]


def test_files_for_the_program(built, brig):
    """Inputs below out/ are returned unchanged, whether compiled now or before."""
    note = brig.dir / "note"
    note.write_text("kept\n")
    for cached in (False, True):
        result = built.run("--in", f"out/note={note}")
        assert [file["path"] for file in result["files"]] == ["out/note"]
        assert result["build_cached"] == cached


def test_at_the_same_time(brig):
    """In any order: all get the right program, and one valid entry is left."""
    source = brig.dir / "code.c"
    source.write_text(f"#include <stdio.h>\nint main(void) {{ puts(\"all\"); }} // {brig.dir}\n")
    before = brig.entries()
    runs = [brig.spawn("run", source, stdout=-1, stderr=-1) for _ in range(6)]
    for run in runs:
        out, err = run.communicate(timeout=60)
        assert (run.returncode, out, err) == (0, b"all\n", b"")
    assert brig.result(source)["build_cached"]
    assert len(brig.entries() - before) == 1


# --- output of a compiler ---------------------------------------------------------------------------

def java(brig, classes):
    """A program of this many classes, all of which it needs; no other test has it."""
    source = brig.dir / "Main.java"
    inner = "".join(f"static class C{i} {{ int f() {{ return {i}; }} }}\n" for i in range(classes))
    uses = " + ".join(f"new C{i}().f()" for i in range(classes))
    source.write_text(f"// {brig.dir}\npublic class Main {{ {inner}"
                      f"public static void main(String[] a) {{ System.out.println({uses}); }} }}\n")
    return source, f"{sum(range(classes))}\n"


def policies(brig, **keys):
    place = brig.dir / "config" / "policies"
    place.mkdir(parents=True)
    (place / "tight.json").write_text(json.dumps({"extends": "default", **keys}))
    return "--config", brig.dir / "config", "--policy", "tight"


def test_policy_for_output_files_cuts_no_compiler(brig):
    """It may return one file: that is the program's bound, and not that of its build or
    of others."""
    source, expected = java(brig, 5)
    tight = policies(brig, files={"out_count": 1, "out_bytes": 1})
    for options in (tight, (), tight, ()):
        result = brig.result(*options, source)
        assert (result["status"], result["stdout"]) == ("ok", expected), result
    assert result["build_cached"]


def test_cut_output_is_not_kept(brig):
    """More classes than there is room for: no program, neither now nor from the cache."""
    before = brig.entries()
    source, _ = java(brig, 300)
    for _ in range(2):
        result = brig.result(source)
        assert (result["status"], result["build_cached"]) == ("compile_failed", False), result
        assert "at most 256 files" in result["verdict"]["remedy"]
    assert brig.entries() == before


def test_key_has_policy_and_limits(built, brig):
    """Compilation by other rules, or with less, has an entry of its own."""
    other = policies(brig, description="another")
    assert not built.run(*other)["build_cached"]
    assert built.run(*other)["build_cached"] and built.run()["build_cached"]
