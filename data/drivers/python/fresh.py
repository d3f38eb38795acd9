# SPDX-License-Identifier: Apache-2.0
# State that each clone must not share with the template: random numbers, times, names, signals.
#
# The process id cannot be used to detect a fork, as the modules do: it is the same in all cells.

TWISTER_WORDS = 624  # the state of that generator
UUID_STATE = {"_node", "_last_timestamp", "_last_timestamp_v6", "_last_timestamp_v7"}


def fresh_multiprocessing(process):
    process.current_process().authkey = os.urandom(32)


def fresh_numpy(random):
    # The same words as seed() would use, but faster.
    words = sys.modules["numpy"].frombuffer(os.urandom(4 * TWISTER_WORDS), "u4")
    random.set_state(("MT19937", words, TWISTER_WORDS))


def fresh_tempfile(tempfile):
    tempfile._name_sequence = tempfile.tempdir = None


def fresh_threading(threading):
    threading.main_thread()._set_native_id()
    threading._counter = threading._count(1).__next__  # Thread-1 is the program's


def generate_time_safe(generate, made_up, real):
    uuid, safe = generate()
    mask = made_up if uuid[10] & 1 else real  # that bit: the node is not the address of a device
    return uuid[:8] + bytes(map(int.__xor__, uuid[8:], mask)), safe


def fresh_uuid(uuid):
    for name in UUID_STATE & vars(uuid).keys():
        setattr(uuid, name, None)
    generate = getattr(uuid, "_generate_time_safe", None)
    if not generate:
        return
    # libuuid has chosen a clock sequence, and a node if there is no device, in the template. They
    # are in variables of its own, which nothing resets: so each clone alters them in its own way.
    noise = os.urandom(8)
    made_up = bytes(map(int.__and__, noise, b"\x3f\xff\xfe\xff\xff\xff\xff\xff"))
    masks = made_up, made_up[:2] + bytes(6)
    # Its globals are not the driver's.
    space = {"__builtins__": sys.modules["builtins"]}
    code = generate_time_safe.__code__
    uuid._generate_time_safe = FunctionType(code, space, None, (generate, *masks))
    if "_uuid" in sys.modules:
        sys.modules["_uuid"].generate_time_safe = uuid._generate_time_safe


# For each clone.
FRESH = {
    # Given any, libcrypto's generators also take new entropy from the system.
    "_ssl": lambda ssl: ssl.RAND_add(os.urandom(32), 32.0),
    "multiprocessing.process": fresh_multiprocessing,
    "numpy.random": fresh_numpy,
    "tempfile": fresh_tempfile,
    "threading": fresh_threading,
    "uuid": fresh_uuid,
}


def begin_logging(logging):
    import time

    logging._startTime = time.time_ns() if isinstance(logging._startTime, int) else time.time()


def begin_multiprocessing(process):
    process.ORIGINAL_DIR = os.path.abspath(os.getcwd())


def begin_site(site):
    path = site.USER_SITE or site.getusersitepackages()
    if site.ENABLE_USER_SITE and path not in sys.path and os.access(path, os.F_OK):
        raise Cold


# For each run.
BEGIN = {
    "logging": begin_logging,
    "multiprocessing.process": begin_multiprocessing,
    "site": begin_site,
}


def apply(table):
    for name, function in table.items():
        if name in sys.modules:
            function(sys.modules[name])


def fresh_signals():
    signal = sys.modules["_signal"]
    own = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGPIPE: signal.SIG_IGN,
        signal.SIGXFSZ: signal.SIG_IGN,
    }
    for number in signal.valid_signals():
        wanted = own.get(number, signal.SIG_DFL)
        if signal.getsignal(number) != wanted:
            signal.signal(number, wanted)
    signal.set_wakeup_fd(-1)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
