/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this host can run virtual machines: a monitor, a kernel and mkfs.erofs are there, and KVM
 * runs that kernel, within the deadline. A KVM device alone proves nothing: it may be unable to run
 * an ordinary kernel. Emulation needs no proof, and would need too much time for one.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/config_path.h"
#include "kernel/probe/probe.h"
#include "vm/vm.h"

static void missing(const struct brig_error *err, struct probe_finding *ret)
{
	ret->state = PROBE_MISSING;
	ret->errnum = err->errnum;
	snprintf(ret->detail, sizeof(ret->detail), "%.*s", (int)sizeof(ret->detail) - 1,
		 err->message);
	snprintf(ret->repair, sizeof(ret->repair), "%.*s", (int)sizeof(ret->repair) - 1,
		 err->remedy);
}

static bool try_kvm(const struct probe_report *host, const struct spec *like, uint64_t deadline_ns,
		    struct probe_finding *ret)
{
	struct vm_settings settings = { .accel = VM_ACCEL_KVM };
	struct spec spec = { .provider = &vm_provider,
			     .layers = vm_provider.layers,
			     .vm = &settings,
			     .cache_dir = like->cache_dir };

	if (like->vm) {
		settings.qemu = like->vm->qemu;
		settings.kernel = like->vm->kernel;
		settings.machine = like->vm->machine;
	}
	if (access("/dev/kvm", F_OK) < 0) {
		return false;
	}
	held_probe(host, &spec, deadline_ns, ret);
	return ret->state != PROBE_MISSING;
}

/* The trial of its file. */
static bool try_file(const struct machine *file, const struct vm_parts *parts, uint64_t deadline_ns,
		     struct probe_finding *ret)
{
	const struct held_trial trial = { &file->probe, file->probe_status };
	struct brig_error err = { 0 };

	if (held_try(parts->program, &trial, deadline_ns, &err) < 0) {
		missing(&err, ret);
		return false;
	}
	return true;
}

void vm_probe_for(const struct probe_report *host, uint64_t deadline_ns, const struct spec *spec,
		  struct probe_finding *ret)
{
	const struct machine *file = spec->vm ? spec->vm->machine : NULL;
	enum vm_accel accel = spec->vm ? spec->vm->accel : VM_ACCEL_KVM;
	bool emulates = accel != VM_ACCEL_KVM && (!file || file->accel == VM_ACCEL_TCG);
	struct probe_finding kvm = { 0 };
	struct vm_parts parts = { 0 };
	struct brig_error err = { 0 };

	if (!probe_required_calls(host, ret)) {
		return;
	}
	if (vm_find(spec->vm, &parts, &err) < 0) {
		missing(&err, ret);
		return;
	}
	if (file && !try_file(file, &parts, deadline_ns, ret)) {
		return;
	}
	if (accel != VM_ACCEL_TCG && (!file || file->accel == VM_ACCEL_KVM) &&
	    try_kvm(host, spec, deadline_ns, &kvm)) {
		snprintf(ret->detail, sizeof(ret->detail), "KVM, by %.200s", parts.program);
		return;
	}
	if (emulates) {
		snprintf(ret->detail, sizeof(ret->detail), "emulation, by %.200s", parts.program);
		return;
	}
	error_set(&err, BRIG_E_HOST, kvm.errnum == ETIMEDOUT ? ETIMEDOUT : ENODEV,
		  "KVM runs no guest on this host%s%.150s", kvm.detail[0] ? ": " : "", kvm.detail);
	error_remedy(&err, file ? "name a machine that this host can run in vm.monitor"
				: "allow emulation in the policy: \"vm\": { \"accel\": \"auto\" }");
	missing(&err, ret);
}

/* With the monitors that a policy may name. */
void vm_probe(const struct probe_report *host, uint64_t deadline_ns, struct probe_finding *ret)
{
	_cleanup_free_ char *cache_dir = config_cache_path();
	_cleanup_(buf_done)
	struct buf list = { 0 };

	vm_probe_for(host, deadline_ns, &(struct spec){ .cache_dir = cache_dir }, ret);
	vm_monitor_list(&list);
	size_t used = strlen(ret->detail);
	if (!list.failed && list.size && used + list.size + 3 < sizeof(ret->detail)) {
		snprintf(ret->detail + used, sizeof(ret->detail) - used, "; %s", list.data);
	}
}
