/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A monitor of virtual machines (Firecracker, cloud-hypervisor), as a data file describes it. The
 * operator's files have precedence over the built-in ones; a caller can supply none. The monitor of
 * the name "qemu" is brig's own, and has no file.
 */
#ifndef BRIG_POLICY_MACHINE_MACHINE_H
#define BRIG_POLICY_MACHINE_MACHINE_H

#include "base/bytes/buf.h"
#include "base/error.h"
#include "base/strlist.h"
#include "policy/words.h"
#include "run/spec/vm_settings.h"

#define MACHINE_QEMU "qemu"

/* Where the monitor has the serial port of its machine. */
enum machine_stream {
	MACHINE_STDIO,  /* its standard input and output */
	MACHINE_SOCKET, /* a Unix socket on which it listens */
	MACHINE_STREAMS,
};

struct machine {
	char name[65];
	char *description;   /* owned; may be NULL */
	char *program;       /* owned: its name, or its absolute path */
	char *package;       /* owned: that has it, for the repair; may be NULL */
	char *tried;         /* owned: the version with which it was tried; NULL: never */
	enum vm_accel accel; /* KVM or TCG: what its command line says */
	enum machine_stream stream;
	bool urandom;             /* it needs /dev/urandom */
	struct strlist arguments; /* with {words} */
	char *config;          /* owned: the text of a configuration file with them; NULL: none */
	struct strlist probe;  /* the arguments of a trial... */
	uint64_t probe_status; /* ...and its exit status */
};
void machine_done(struct machine *machine);

/* The {words} of arguments and of the configuration. */
enum machine_word {
	MACHINE_KERNEL, /* paths of files */
	MACHINE_INITRD,
	MACHINE_IMAGE,
	MACHINE_CONFIG,
	MACHINE_SERIAL,     /* the path of the socket */
	MACHINE_MEMORY_MIB, /* of the machine */
	MACHINE_CMDLINE,    /* of the kernel */
	MACHINE_WORDS,
};
extern const struct words machine_words;

/* Parses a file's text; `place` is for messages. */
int machine_parse(const char *name, const char *place, const char *text, size_t size,
		  struct machine *ret, struct brig_error *err);
/* A built-in one. 0, -ENOENT, or an error. */
int machine_built_in(const char *name, struct machine *ret, struct brig_error *err);
/* The names of built-in ones, in order. */
int machine_names(struct strlist *ret);

struct json_doc;
struct policy;
struct policy_source;
struct sha256;
/*
 * The machine of a policy, if it may use one: the file is a part of the policy, and of its hash,
 * which is chained then. `doc` is the policy's own text.
 */
int machine_apply(const struct policy_source *source, const struct json_doc *doc,
		  struct policy *policy, struct sha256 *hash, bool *chained,
		  struct brig_error *err);
#endif
