# SPDX-License-Identifier: Apache-2.0
# The last layer of `strict`: python itself reports what is about to happen, and a hook of this kind
# can never be taken away again. It knows what no allowed program does; and whatever way a program
# found to do it all the same, it ends here. (Behind it is still the cell.)

GUARD_NEVER = (
    "os.", "subprocess.", "socket.", "ctypes.", "shutil.", "mmap.", "fcntl.", "pty.", "gc.",
    "signal.", "syslog.", "resource.", "ftplib.", "http.", "imaplib.", "nntplib.", "poplib.",
    "smtplib.", "telnetlib.", "urllib.", "webbrowser.", "winreg.", "msvcrt.", "sqlite3.", "pickle.",
    "sys._current_", "sys.addaudithook", "sys.set_", "code.", "cpython.run_", "glob.", "tempfile.", "ensurepip.", "pdb.", "setopencodehook",
)
GUARD_WATCHED = {"open", "exec", "compile", "os.listdir", "os.scandir", "sys._getframe",
                 "object.__getattr__", "object.__setattr__", "object.__delattr__", "import",
                 "function.__new__", "sys.settrace", "sys.setprofile"}
# Functions of python's own that compile text: of fields' names, which have been looked at.
GUARD_COMPILERS = {"_create_fn", "add_fns_to_class", "namedtuple", "__init__", "parse",
                   "_call_with_frames_removed", "source_to_code", "_compile_bytecode"}


def guard_hook(guard):
    getframe, busy = sys._getframe, False
    roots = tuple({p + "/" for p in (sys.prefix, sys.base_prefix, sys.exec_prefix)})
    usr = ("/usr/lib/", "/usr/local/lib/", "/usr/share/zoneinfo/")

    def is_library(path):
        return type(path) is str and path.startswith(roots + usr)

    def sound(event, args):
        if event in ("os.listdir", "os.scandir"):
            return is_library(args[0])
        if event == "open":
            path, mode, flags = args
            reads = mode in (None, "r", "rb", "rt") and not (flags or 0) & 0o3
            return path in guard.own or reads and is_library(path)
        try:
            frame = getframe(2)  # who has caused it
        except ValueError:
            return True  # nobody: the program has ended, or has not begun
        if frame.f_code.co_filename == own_file:
            return True
        if frame.f_code.co_filename in guard.own:
            return event == "import"
        if event in ("exec", "compile"):
            return frame.f_code.co_name in GUARD_COMPILERS
        return True

    def hook(event, args):
        nonlocal busy
        if busy or guard.paused:
            return
        if event not in GUARD_WATCHED:
            if event.startswith(GUARD_NEVER):
                raise GuardPermissionError("%s is refused in strict mode" % event)
            return
        busy = True
        try:
            fine = sound(event, args)
        finally:
            busy = False
        if not fine:
            raise GuardPermissionError("%s is refused in strict mode" % event)

    own_file = guard_hook.__code__.co_filename
    return hook
