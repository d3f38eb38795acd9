# SPDX-License-Identifier: Apache-2.0
"""Runs with each provider: one configuration directory, with a policy for each."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import jsonschema
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "host"))

import daemons  # noqa: E402 # pylint: disable=wrong-import-position
import machines  # noqa: E402

BRIG = os.path.abspath(os.environ.get("BRIG", "build/brig"))
ROOT = os.geteuid() == 0
RUNTIMES = ("crun", "runc")
POLICIES = {
    "native": {"extends": "default"},
    **{f"oci-{name}": {"extends": "default", "provider": "oci", "oci": {"runtime": name}}
       for name in RUNTIMES},
    "launcher-bubblewrap": {"extends": "default", "provider": "launcher",
                            "launcher": {"name": "bubblewrap"}},
    "gvisor": {"extends": "default", "provider": "gvisor"},
}
# Containers of a daemon, which root's tests start for themselves: its socket is added to the policy
# as soon as there is one. An ordinary user's daemon has no limits: test_daemons.py.
DAEMONS = ("docker", "podman")
# The containers have no user namespace and a whole /proc, which a policy has to allow.
DAEMON = {"extends": "default", "may_miss": [
    "timens", "overlay", "uidrange", "landlock", "notify", "keyring", "cgroup-memory", "cgroup-pids",
    "cgroup-cpu", "userns", "proc"]}
if ROOT:
    POLICIES.update({name: {**DAEMON, "provider": name} for name in DAEMONS})
# A machine by emulation is slow: of the tests for all providers it runs these, and every one with
# BRIG_ALL_PROVIDERS=1 (make test-providers).
POLICIES["vm"] = {"extends": "default", "provider": "vm", "vm": {"accel": "tcg"},
                  "limits": {"wall": "2m"}}  # emulation on a busy host
VM_CORE = {
    "test_the_acceptance_example", "test_streams_apart", "test_input_and_its_end",
    "test_files_in_and_out", "test_hostile_output", "test_an_orphan_delays_nothing",
    "test_the_result_tells_the_truth", "test_wall", "test_cpu_time", "test_memory",
    "test_processes", "test_inodes", "test_no_privileges", "test_no_network",
    "test_the_supervisor_is_out_of_reach", "test_network", "test_nothing_stays", "test_reports_are_not_forged",
}
HELD = [name for name in POLICIES if name != "native"]  # in a holder, with an agent
# The program's calls are answered by a process: the host sees neither its processes nor its ids.
EMULATED = ("gvisor",)
# In `make test` slow providers have all tests but these, and every one with BRIG_ALL_PROVIDERS=1.
SLOW = ("gvisor", *DAEMONS)
ONLY_IN_FULL = {"test_exit_status", "test_output", "test_arguments", "test_brig_killed_while_it_starts",
                "test_a_short_peak_is_counted", "test_fork_bomb", "test_hostile_output",
                "test_the_same", "test_limits_of_processes_and_files", "test_input_that_nobody_reads",
                "test_binary_output", "test_a_command", "test_abort",
                "test_not_a_program", "test_one_shape", "test_wall_with_children", "test_languages",
                "test_no_value_but_json", "test_value_has_a_fixed_size", "test_guard_of_the_policy",
                "test_output_between_runs_is_of_none", "test_bytes_of_inputs_are_free", "test_own_base",
                "test_relative_and_linked", "test_base_with_links_to_others"}
SLOW_POOLS = ("gvisor", "podman")  # a dozen containers, one after the other
# Of the tests for all providers `make test` has these with the second of two that are alike: brig's part
# is the same with both but for the calls, or the command line. The files in which they differ are whole.
ALIKE = {"podman": (), "oci-runc": ("test_bad_days", "test_held", "test_refused")}
CORE = {
    "test_the_acceptance_example", "test_input_and_its_end", "test_files_in_and_out", "test_hostile_output",
    "test_streams_apart", "test_an_orphan_delays_nothing", "test_the_result_tells_the_truth",
    "test_wall", "test_cpu_time", "test_memory", "test_processes", "test_disk", "test_inodes", "test_open_files",
    "test_use_is_counted", "test_killing_call", "test_state_and_value_stay", "test_driver_that_dies",
    "test_the_same_result", "test_the_same_layers", "test_no_trace_of_its_script",
    "test_nothing_is_shared", "test_nothing_is_written_to_the_host", "test_no_host_files", "test_no_network",
    "test_no_host_sockets", "test_no_privileges", "test_read_only", "test_processes_only_in_proc",
    "test_the_supervisor_is_out_of_reach", "test_no_namespaces", "test_no_setuid", "test_nothing_stays",
    "test_runs_do_not_see_each_other", "test_reports_are_not_forged", "test_a_stopped_program_ends",
    "test_memory_of_files", "test_dangerous_calls", "test_kernel_settings",
}

# Each takes five to fifteen seconds over an emulated serial port: in `make test` they are root's.
SERIAL_OF_ROOT = {"test_a_large_file_in_and_out", "test_input_that_is_read_late", "test_output_that_is_read_late",
                  "test_binary_output", "test_memory"}

# Each other test of warm wasm makes a template for one run.
WASM_WARM_CORE = {"test_nothing_is_left_for_the_next", "test_random_numbers_are_fresh",
                  "test_the_order_is_read_once", "test_descriptors", "test_a_trap_is_reported"}


REFUSALS = []  # of the test that runs


@pytest.fixture(autouse=True)
def refusals(record_property):
    """For scripts/provider-table.py: did the test assert that something is refused?"""
    REFUSALS.clear()
    yield
    if REFUSALS:
        record_property("refused", len(REFUSALS))


# Some things a daemon's containers cannot have: test_daemons.py asserts their refusal. Their processes
# are children of the daemon, not of brig: it has the tests of killed processes, too.
NOT_WITH_DAEMONS = {"test_brig_killed", "test_brig_killed_while_it_starts", "test_holder_killed",
                    "test_brig_killed_with_waiting_containers", "test_interrupted", "test_mounts",
                    # no interpreter waits in them, and calls are not watched
                    "test_time_before_the_program_is_free", "test_a_policy_that_watches"}

# A machine has no directories of the host: test_vm.py asserts their refusal.
NOT_WITH_MACHINES = {"test_mounts"}


def write_policy(config, name, policy):
    path = config / "policies" / f"{name}.json"
    path.write_text(json.dumps(policy))
    path.chmod(0o600)


@pytest.fixture(scope="session")
def config(tmp_path_factory):
    config = tmp_path_factory.mktemp("config")
    (config / "policies").mkdir()
    for name, policy in POLICIES.items():
        write_policy(config, name, policy)
    return config


# They wait for a process of the program on the host. Machines have kills of their own: test_vm.py.
ON_THE_HOST = {"test_brig_killed", "test_holder_killed", "test_interrupted"}


def can_be(item):
    """Is there what the test looks at?"""
    return not ("vm" in parameters(item) and item.originalname in ON_THE_HOST)


def parameters(item):
    return list(getattr(getattr(item, "callspec", None), "params", {}).values())


def is_core_of_daemons(item):
    """Both have a few of the wrong answers to each call, and one of them all to the first call."""
    params = getattr(getattr(item, "callspec", None), "params", {})
    way, podman = params.get("way"), params.get("kind") == "podman"
    if item.originalname == "test_a_call_that_fails":
        return way in (("end", "garbage") if podman else ("silence", "garbage", "endless-body", "end", "switch"))
    if item.originalname == "test_a_daemon_that_answers_wrongly":
        return not podman or way in ("end", "garbage", "old", "switch")
    if item.originalname == "test_brig_is_killed_while_it_starts":
        return not podman or params["after"] == 0.15
    return True


def is_core(item):
    """Is the test one of `make test`?"""
    names = parameters(item)
    if item.module.__name__ == "test_daemons":
        return is_core_of_daemons(item)
    for name in (name for name in ALIKE if name in names):
        if item.originalname not in CORE and item.module.__name__ not in ALIKE[name]:
            return False
    if item.originalname == "test_a_pool" and any(name in SLOW_POOLS for name in names):
        return False
    # A second of the processor is long on a busy host: here for one of each kind, test_cpu_time for all.
    if item.originalname == "test_limits_of_the_request" and "cpu_limit" in names:
        return "oci-crun" in names or "docker" in names
    if any(name in SLOW for name in names) and item.originalname in ONLY_IN_FULL:
        return False
    if item.module.__name__ == "test_vm_machines":
        return ROOT or item.originalname not in SERIAL_OF_ROOT
    if item.module.__name__ == "test_wasm_warm" and item.originalname not in WASM_WARM_CORE:
        return False
    return ("vm" not in names or item.originalname in VM_CORE
            and item.module.__name__ != "test_held")


def has_meaning(item):
    of_venv = item.module.__name__ == "test_venv"
    lacking = {**dict.fromkeys(DAEMONS, item.originalname in NOT_WITH_DAEMONS or of_venv),
               "vm": item.originalname in NOT_WITH_MACHINES or of_venv}
    return not any(lacking.get(name) for name in parameters(item) if isinstance(name, str))


def pytest_collection_modifyitems(config, items):
    wanted = [item for item in items if can_be(item) and has_meaning(item) and
              (os.environ.get("BRIG_ALL_PROVIDERS") or is_core(item))]
    config.hook.pytest_deselected(items=[item for item in items if item not in wanted])
    items[:] = wanted


@pytest.fixture(scope="session")
def vm_kernel():
    """One that setup.sh has unpacked, unless the host has its own."""
    return machines.kernel()


@pytest.fixture(scope="session")
def vm_config(tmp_path_factory, vm_kernel):
    """Languages with few files, so that the image of a machine is made in a second."""
    config = tmp_path_factory.mktemp("vm-config")
    (config / "policies").mkdir()
    POLICIES["vm"]["vm"]["kernel"] = vm_kernel
    write_policy(config, "vm", POLICIES["vm"])
    machines.write_languages(config)
    return config


@pytest.fixture(scope="session")
def schema():
    done = subprocess.run([BRIG, "run", "--json-schema"], capture_output=True, check=True)
    return jsonschema.Draft202012Validator(json.loads(done.stdout))


WASM_PLACES = ["/usr/local/lib/brig/wasm", "/usr/lib/brig/wasm",
               os.path.expanduser("~/.local/share/brig/wasm")]


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    """An engine's directory of this user's own, which a cell can reach. All tests have the same, so that
    each interpreter (scripts/get-wasmtime.sh --python --ruby) is translated once."""
    place = tmp_path_factory.mktemp("wasm")
    for one in [place, *list(place.parents)[:3]]:
        if one.stat().st_uid == os.geteuid() and one != pathlib.Path("/tmp"):
            one.chmod(one.stat().st_mode | 0o055)
    for name in ("libwasmtime.so", "python.wasm", "ruby.wasm"):
        paths = (pathlib.Path(directory) / name for directory in WASM_PLACES)
        shutil.copy(next(path for path in paths if path.exists()), place / name)
        (place / name).chmod(0o755)
    return place


def running_daemon(kind, config):
    daemon = daemons.Daemon(kind).start()
    try:
        write_policy(config, kind, {**DAEMON, "provider": kind, kind: {"socket": daemon.socket}})
        yield daemon
    finally:
        daemon.stop()


@pytest.fixture(scope="session")
def docker(config):
    yield from running_daemon("docker", config)


@pytest.fixture(scope="session")
def podman(config):
    yield from running_daemon("podman", config)


class Provider:
    """One provider: runs brig with its policy."""

    def __init__(self, name, config, schema):
        self.name, self.config, self.schema = name, config, schema
        self.kind, _, self.runtime = name.partition("-")
        self.emulated = self.kind in EMULATED
        self.daemon = self.kind in DAEMONS
        # Limits of a second must not include a start that takes as long on a busy host.
        self.ahead = ("--start", "warm") if self.kind in SLOW else ()

    def words(self, *args):
        return [BRIG, "run", "--config", str(self.config), "--policy", self.name,
                *(str(arg) for arg in args)]

    def plain(self, *args, stdin=b"", timeout=300, **options):
        """The program's own streams and status."""
        return subprocess.run(self.words(*args), input=stdin, capture_output=True,
                              timeout=timeout, check=False, **options)

    def result(self, *args, **options):
        """The result, which matches the schema."""
        done = self.plain("--json", *args, **options)
        result = json.loads(done.stdout)
        assert "error" not in result, result["error"]
        wrong = [error.message for error in self.schema.iter_errors(result)]
        assert not wrong, (wrong, result)
        assert result.get("provider") == self.kind, result
        return result

    def python(self, code, *args, **options):
        return self.result(*args, "--lang", "python", "-c", code, **options)

    def bash(self, code, *args, **options):
        return self.result(*args, "--lang", "bash", "-c", code, **options)

    def refused(self, *args):
        """The error of a run that must not start."""
        done = self.plain("--json", *args)
        answer = json.loads(done.stdout)
        assert "error" in answer and done.returncode not in (0, 1), done
        REFUSALS.append(answer["error"])
        return answer["error"]

    def has_commands(self):
        """Not in a machine: a program of the host has all of /usr, which may be more than an image can have."""
        if self.kind != "vm":
            return True
        answer = json.loads(self.plain("--json", "--", "/bin/true").stdout)
        if "error" not in answer:
            return True
        assert "too many for an image" in answer["error"]["message"] and answer["error"]["remedy"], answer
        REFUSALS.append(answer["error"])
        return False


def make_provider(request, schema):
    config = request.getfixturevalue("vm_config" if request.param == "vm" else "config")
    if request.param in DAEMONS:
        request.getfixturevalue(request.param)
    return Provider(request.param, config, schema)


@pytest.fixture(params=list(POLICIES))
def provider(request, schema):
    return make_provider(request, schema)


@pytest.fixture(params=HELD)
def held(request, schema):
    return make_provider(request, schema)


@pytest.fixture(params=[name for name in HELD if name not in (*EMULATED, *DAEMONS, "vm")])
def one_kernel(request, config, schema):
    """The agent is a process of the host."""
    return Provider(request.param, config, schema)


@pytest.fixture(params=[name for name in POLICIES if name.startswith("oci-")])
def oci(request, config, schema):
    return Provider(request.param, config, schema)


@pytest.fixture
def of(request, config, schema):
    """A provider of another policy, which the test writes."""
    def make(name, policy):
        kind = policy.get("provider", "native")
        if kind in DAEMONS:
            settings = {"socket": request.getfixturevalue(kind).socket, **policy.get(kind, {})}
            policy = {**policy, kind: settings}
        place = request.getfixturevalue("vm_config") if kind == "vm" else config
        write_policy(place, name, policy)
        made = Provider(name, place, schema)
        made.kind = kind
        made.daemon = kind in DAEMONS
        return made

    return make
