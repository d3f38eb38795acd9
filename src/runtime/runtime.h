/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runtime: a language as data (data/runtimes/NAME.json). Adding one is adding one file, built in
 * at the next build or dropped into the operator's runtimes/ directory.
 */
#ifndef BRIG_RUNTIME_RUNTIME_H
#define BRIG_RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strlist.h"
#include "run/spec/closure.h"
#include "runtime/version_cache.h"

/*
 * For languages that tie the name of a file to its contents (Java): the file is named after the
 * type that follows "public ... class", the program is started by the name of the type that
 * contains the entry function.
 */
struct source_words {
	char exported[32];    /* "public" */
	struct strlist types; /* "class", "record", "enum", "interface" */
	char package[32];     /* "package" */
	char entry[32];       /* "main" */
	char fallback[32];    /* {main} when nothing is found: "Main" */
};

struct runtime {
	char name[32];             /* "python" */
	struct strlist aliases;    /* "py", "python3" */
	struct strlist extensions; /* "py" */
	struct strlist shebangs;   /* "python3", "python": last part of the #! program */
	char source[64];           /* "code.py": name of a snippet in /sandbox */
	struct source_words words; /* how the code itself names its file; all empty: it does not */
	bool generic;              /* the "command" runtime: any program, no source */
	bool engine;               /* the provider's engine runs the source: there is no program */

	struct strlist candidates;   /* absolute paths of the program to look for, in order */
	struct strlist version_argv; /* arguments that make it print its version */
	char *version_pattern;       /* text in front of the version number */

	struct strlist
		compile; /* argv; empty: interpreted. {program} {source} {output} {memory_mb}... */
	char output[64]; /* the compiler's result: file or directory in /sandbox, e.g. "program" */
	struct strlist run; /* argv, with the same placeholders, {args} last */
	struct strlist env; /* NAME=VALUE */
	struct strlist compile_env;
	struct strlist closure; /* paths and globs needed to run; missing ones are skipped */
	struct strlist compile_closure;    /* paths needed in addition to compile */
	struct brig_limits compile_limits; /* of the compiler's cell; 0: as in the policy */
	struct brig_limits compile_least;  /* a request does not tighten them below this */
	uint64_t least_memory_bytes;       /* with less it cannot even start: an error says so */
	uint64_t least_processes;

	/* Cells made in advance: see docs/runtimes.md. */
	bool template;          /* it is a Python that brig can warm and clone */
	struct strlist preload; /* modules that a template imports */
	/* script of data/drivers/ that waits in the source's place, in a held cell; "": none */
	char waiting_driver[64];
	char driver[64]; /* script of data/drivers/ that waits in a started one; "": none */
	struct strlist driver_argv; /* argv to start it with the script {driver} */
	/* A cold run with the value of the last expression: a script that runs the program. */
	char value_driver[64];
	struct strlist value_argv;
	/*
	 * A session: the script that stays in the cell and runs code on request. "": not supported.
	 */
	char session_driver[64];
	struct strlist session_argv;
	struct strlist driver_env; /* names, or prefix*, that it has read before it waits */

	/* filled by detection */
	char *program;      /* owned: path of the program found; NULL: not installed */
	char *real_program; /* owned: the same with no link on the way */
	/* owned: real_program without its last two components; {prefix} */
	char *prefix;
	char version[VERSION_BYTES]; /* "3.11.2" */
	char *package_hint;          /* owned: Debian package that contains it */
};

struct runtime_source {
	const char *config_dir;      /* contains runtimes/; may be NULL */
	const char *folder;          /* of runtimes/, for a provider's own languages; or NULL */
	const struct broker *broker; /* knows the owners of the files; NULL: checked directly */
};

int runtime_parse(const char *name, const char *text, size_t size, struct runtime **ret,
		  struct brig_error *err);
void runtime_free(struct runtime *runtime);
static inline void runtime_freep(struct runtime **runtime)
{
	runtime_free(*runtime);
}

/* All runtimes, parsed, not yet detected; free each and the array. */
int runtime_load_all(const struct runtime_source *source, struct runtime ***ret, size_t *ret_count,
		     struct brig_error *err);
/* By name or alias. -ENOENT with a message that lists the available ones. */
int runtime_load(const struct runtime_source *source, const char *name, struct runtime **ret,
		 struct brig_error *err);
/* By extension, then by #! line of `head`. */
int runtime_for_file(const struct runtime_source *source, const char *path, const char *head,
		     size_t head_size, struct runtime **ret, struct brig_error *err);

/*
 * Finds the program (fast: no process is started). Not found: -ENOENT with the package to
 * install.
 */
int runtime_find(struct runtime *runtime, struct brig_error *err);
/*
 * Also gets its version from the program; cached by path, size and mtime in memory and in
 * cache_dir. Both may be NULL.
 */
int runtime_version(struct runtime *runtime, const char *cache_dir, struct version_memory *memory,
		    struct brig_error *err);

/* The host files that it needs. with_compiler: also those for compiling. */
int runtime_closure(const struct runtime *runtime, bool with_compiler, struct closure *ret,
		    struct brig_error *err);
/*
 * For any program: its file and its libraries; a static one needs only itself; a script gets its
 * interpreters and the closure of "command". A program in /tmp, /run and other directories that
 * brig makes new in the cell is left out: the caller copies it in.
 */
int program_closure(const char *program, struct closure *ret, struct brig_error *err);
/* For a library that a program of brig's own loads: also the loader. */
int library_closure(const char *library, struct closure *ret, struct brig_error *err);

struct runtime_values { /* values of placeholders */
	const char *program, *source, *output;
	const char *const *args; /* NULL-terminated; NULL: none */
	uint64_t memory_bytes;
	const char *prefix; /* of struct runtime */
	const char *main;   /* of runtime_source_name() */
	const char *driver; /* path of the waiting script in the cell */
};

struct runtime_source_name {
	char file[64];  /* "code.py", "Hello.java": in /sandbox */
	char main[128]; /* {main}: "Hello", "org.example.Hello"; "" when the runtime has no words */
};
/*
 * The name of the source file: as the code requires, else by the extension of `path` (may be NULL).
 */
void runtime_source_name(const struct runtime *runtime, const char *path, const char *code,
			 size_t size, struct runtime_source_name *ret);
/* Expands an argv template. */
int runtime_expand(const struct strlist *argv, const struct runtime_values *values,
		   struct strlist *ret, struct brig_error *err);
#endif
