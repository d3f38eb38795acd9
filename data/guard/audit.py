# SPDX-License-Identifier: Apache-2.0
# The last layer of `strict`: python itself reports operations before they happen, and a hook of
# this kind can never be removed. It lists operations that no allowed program performs; a program
# that found a way to them is stopped here. (The cell is still behind it.)

GUARD_NEVER = (
    "os.", "subprocess.", "socket.", "ctypes.", "shutil.", "mmap.", "fcntl.", "pty.", "gc.",
    "signal.", "syslog.", "resource.", "ftplib.", "http.", "imaplib.", "nntplib.", "poplib.",
    "smtplib.", "telnetlib.", "urllib.", "webbrowser.", "winreg.", "msvcrt.", "sqlite3.", "pickle.",
    "sys._current_", "sys.addaudithook", "sys.set_", "code.", "cpython.run_", "glob.", "tempfile.", "ensurepip.", "pdb.", "setopencodehook",
)
GUARD_WATCHED = {"open", "exec", "compile", "os.listdir", "os.scandir", "sys._getframe",
                 "object.__getattr__", "object.__setattr__", "object.__delattr__", "import",
                 "function.__new__", "sys.settrace", "sys.setprofile", "code.__new__"}
# Functions of python itself that compile text: names of fields, which have been checked.
GUARD_COMPILERS = {"_create_fn", "add_fns_to_class", "namedtuple", "__init__", "parse",
                   "_call_with_frames_removed", "source_to_code", "_compile_bytecode",
                   "exec_module"}
# Operations of the hook itself when it looks for the cause of an operation.
GUARD_HOOK_EVENTS = ("sys._getframe", "object.__getattr__")
# The code of functions that represent the program, where its own have no frames.
GUARD_STANDING = []


def guard_hook():
    """Returns the hook, and the function that disables it, which a program cannot reach. It has its
    own copy of the names of the program's texts, for the same reason.
    """
    getframe, looking, resting, own = sys._getframe, False, False, set()
    roots = tuple({p + "/" for p in (sys.prefix, sys.base_prefix, sys.exec_prefix)})
    usual = roots + ("/usr/lib/", "/usr/local/lib/", "/usr/share/zoneinfo/")

    # No method of an argument is called that the program could have defined.
    def is_library(path):
        return type(path) is str and path.startswith(usual) and "/../" not in path + "/"

    def may_open(path, mode, flags):
        if type(mode) is str and mode not in ("r", "rb", "rt") or type(flags) is int and flags & 3:
            return False
        if type(mode) not in (str, type(None)) or type(flags) not in (int, type(None)):
            return False
        return is_library(path) or type(path) is str and path in own

    def sound(event, args):
        if event in ("os.listdir", "os.scandir"):
            return is_library(args[0])
        if event == "open":
            return may_open(*args)
        try:
            frame = getframe(2)  # the cause
        except ValueError:
            return True  # none: the program has ended, or has not begun
        if frame.f_code.co_filename == own_file:
            return True
        if frame.f_code.co_filename in own:
            return event == "import"
        if event in ("exec", "compile", "code.__new__"):  # the last one by imports, in python 3.8
            return frame.f_code.co_name in GUARD_COMPILERS
        return True

    def rests():
        """Does not apply to calls that involve the program, such as a destructor of its own."""
        return resting and not guard_is_called(getframe(1), own)

    def hook(event, args):
        nonlocal looking
        if looking and event in GUARD_HOOK_EVENTS:
            return
        watched = event in GUARD_WATCHED
        if not watched and not event.startswith(GUARD_NEVER):
            return
        before, looking = looking, True
        try:
            fine = rests() or watched and sound(event, args)
        finally:
            looking = before
        if not fine:
            raise GuardPermissionError("%s is refused in strict mode" % event)

    def rest(rests, texts=()):
        nonlocal resting
        own.update(texts)
        resting = rests

    own_file = guard_hook.__code__.co_filename
    return hook, rest


def guard_is_called(frame, own, until=None):
    """Is the program involved? Frames from `until` on are ignored; without any, None."""
    while frame is not None:
        code = frame.f_code
        if code is until:
            return False
        if code.co_filename in own or any(code is it for it in GUARD_STANDING):
            return True
        frame = frame.f_back
    return None
