# SPDX-License-Identifier: Apache-2.0
# A guarded program within its driver (data/drivers/python, whose text follows): checked, run or
# refused, and concluded.


def take_guard(argv, pipe):
    """Takes the guard's assignment, which precedes the source; returns the rest."""
    global guarding, reporting
    if pipe is None:
        leave_refused("nobody would hear the guard")
    guarding = Guard(argv[1], os.path.dirname(os.path.realpath(argv[2])))
    reporting = GuardReport(pipe)
    return argv[2:]


def leave_refused(text="", status=126):
    if text:
        os.write(2, ("brig: %s\n" % text).encode())
    os._exit(status)


def load_guarded(path, valued):
    """Returns the program's code if the guard allows it; otherwise it does not return."""
    order, code = guarding.order, None
    try:
        tree = guarding.look(read(path), path)
        if guarding.mode != "off":
            code = guarding.compile(graft(tree, path, valued and order["value"]), path)
    except GuardRefusal as refusal:
        reporting.refuse(guarding.record(refusal.record))
        leave_refused()
    except SyntaxError as error:
        if order["check"]:
            no = GuardRefusal("syntax", str(error), "Correct the syntax.", line=error.lineno or 0)
            reporting.refuse(guarding.record(no.record))
            leave_refused()
        reporting.let_run(guarding.record())
        sys.__excepthook__(type(error), error.with_traceback(None), None)
        flush_streams()
        leave_refused(status=1)
    except Exception as error:
        no = GuardRefusal("syntax", "the code cannot be read: %s" % error, "Simplify it.")
        reporting.refuse(guarding.record(no.record))
        leave_refused()
    if order["check"]:
        reporting.refuse(guarding.record())
        leave_refused(status=0)
    reporting.let_run(guarding.record())
    return (code,) if code else load_program(path, valued and order["value"])


def conclude_guarded(error):
    """Reports whether the guard caused the program's end."""
    stopped = os.getpid() == reporting.pipe.pid and guarding.stopped(error)
    if guarding.mode == "strict" and error is not None:
        guard_trim(error)
    if stopped:
        reporting.end(stopped)
    if guarding.exhausted():
        sys.stderr.write("brig: more than %d loop turns, calls and elements\n"
                         % guarding.order["operations"])
        flush_streams()
        os._exit(1)
