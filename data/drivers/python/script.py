# SPDX-License-Identifier: Apache-2.0
# A cold run with a value: this text is the interpreter's script.


def be_script():
    options = getattr(sys, "orig_argv", [sys.executable, *sys.argv])[: -len(sys.argv)]
    own_path = os.path.dirname(os.path.realpath(sys.argv[0]))
    argv = sys.argv[1:]
    try:
        pipe = ValuePipe(SCRIPT_VALUE_FD)
        pipe.move()
    except OSError:
        pipe = None
    if argv[:1] == [GUARD_WORD]:
        argv = take_guard(argv, pipe)
    try:
        start(argv, options, own_path, pipe)
    except Cold:
        if guarding and guarding.mode != "off":
            leave_refused("the guard could not be set up")
        os.execv(sys.executable, ([sys.executable] if guarding else options) + argv)
