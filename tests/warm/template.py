# SPDX-License-Identifier: Apache-2.0
# A template as brig makes one, with os.fork() in the place of the clone into namespaces.
#
# It is the text of `python3 -c TEXT DRIVER EXTENSION IN OUT MODULE...`. Lines come from descriptor
# IN, each a python expression: ("run", pid, fds, argv, env, dir) forks a run whose descriptors 0 to
# 3 are those of process pid, ("wait", pid) waits for it. Answers go to OUT, one line each.
import os
import sys

HIGH_FD = 255


def take_descriptors(owner, fds):
    opened = []
    for number, fd in enumerate(fds):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY
        opened.append(os.open("/proc/%d/fd/%d" % (owner, fd), flags | os.O_CLOEXEC))
    for number, fd in enumerate(opened):
        os.dup2(fd, 100 + number)
    for number in range(len(fds)):
        os.dup2(100 + number, number)
    return len(fds) > 3


def become(owner, fds, argv, env, directory):
    valued = take_descriptors(owner, fds)
    os.closerange(3 + valued, 300)
    os.chdir(directory)
    os.umask(0o022)
    variables = {}
    for entry in env:
        variables.setdefault(*entry.split(b"=", 1))
    for name in list(os.environb):
        os.unsetenv(name)
    for pair in variables.items():
        os.putenv(*pair)
    if valued:
        os.dup2(3, HIGH_FD, inheritable=False)
        os.close(3)
    return [os.fsdecode(word) for word in argv], variables, HIGH_FD if valued else -1


def serve_from(source, sink, beginning):
    def serve():
        for line in iter(source.readline, b""):
            what, *rest = eval(line)
            if what == "wait":
                os.write(sink, b"%d\n" % os.waitpid(rest[0], 0)[1])
                continue
            taken, taking = os.pipe()
            pid = FORK()
            if pid == 0:
                return (lambda: become(*rest)), beginning
            os.close(taking)
            os.read(taken, 1)  # until the clone has closed it with all foreign descriptors
            os.close(taken)
            os.write(sink, b"%d\n" % pid)
        os._exit(0)

    return serve


def fork_into_pid_namespace():
    """Then all clones have the same process id; and so has the template, if it is in one, too."""
    import ctypes
    import struct

    api = ctypes.PyDLL(None)
    args = struct.pack("11Q", 0x20000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0)  # CLONE_NEWPID, SIGCHLD
    api.PyOS_BeforeFork()
    pid = api.syscall(435, args, len(args))  # clone3
    if pid == 0:
        api.PyOS_AfterFork_Child()
    else:
        api.PyOS_AfterFork_Parent()
    return pid


def leave_by_extension(path):
    """Its leave(), from which the driver gets to the rest, without a trace of how it
    was obtained."""
    before = set(sys.modules)
    from importlib import machinery, util

    loader = machinery.ExtensionFileLoader("_brig", path)
    module = util.module_from_spec(util.spec_from_loader("_brig", loader))
    loader.exec_module(module)
    for name in set(sys.modules) - before:
        del sys.modules[name]
    return module.leave


# Words before the modules: a process id namespace for each clone, clones that rehearse.
options = [word for word in sys.argv[5:] if word.startswith("--")]
FORK = fork_into_pid_namespace if "--namespace" in options else os.fork

with open(sys.argv[1]) as file:
    text = file.read()
exec(
    compile(text, "<brig>", "exec"),
    {
        "__name__": "brig.driver",
        "serve": serve_from(
            open(int(sys.argv[3]), "rb", 0),
            int(sys.argv[4]),
            "plain" if "--rehearsed" in options else "pinned",
        ),
        "leave": leave_by_extension(sys.argv[2]),
        "preload": sys.argv[5 + len(options) :],
    },
)
