/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cell for a WASI program: a native one, whose program is brig's helper with the engine. The cell
 * of a compiler is an ordinary one: the compiler is a program of the host.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/prepare/prepare.h"
#include "wasm/wasm.h"

/*
 * Memory of the engine itself: its threads, and the native code. A program that has used up the
 * rest is told so by its allocator, and goes on.
 */
#define ENGINE_BYTES (32ull << 20)

bool prepare_is_wasm(const struct prepared *p)
{
	return p->spec.provider->runtimes && p->purpose != PURPOSE_COMPILE;
}

/* The whole library is read once for each file: it is known by its identity afterwards. */
static int check_engine(struct brig_context *context, const char *path, struct brig_error *err)
{
	char sha[] = "sha256";
	char *const argv[] = { sha, NULL };
	char key[SHA256_HEX_SIZE], version[VERSION_BYTES];

	if (version_key(path, argv, key) < 0) {
		return error_errno(err, BRIG_E_HOST, errno, "the engine %.200s", path);
	}
	bool known = version_memory_recall(&context->versions, key, version) == 0 ||
		     version_recall(context->cache_dir, key, version) == 0;
	if (known && strcmp(version, wasm_engine_version) == 0) {
		return 0;
	}
	int r = wasm_engine_check(path, err);
	if (r < 0) {
		return r;
	}
	version_memory_keep(&context->versions, key, wasm_engine_version);
	version_remember(context->cache_dir, key, wasm_engine_version);
	return 0;
}

/* The libraries of the engine. The engine itself is not shown at its path on the host. */
static int make_closure(struct prepared *p, struct brig_error *err)
{
	closure_done(&p->closure);
	int r = library_closure(p->engine, &p->closure, err);

	if (r == 0) {
		prepare_drop_item(&p->closure, p->engine);
	}
	return r;
}

static int find_engine(struct brig_context *context, struct prepared *p, struct brig_error *err)
{
	char path[PATH_MAX];
	int r = wasm_engine_find(p->policy->wasm_engine, path, err);

	r = r < 0 ? r : wasm_engine_trust(context->runtimes.broker, path, err);
	r = r < 0 ? r : check_engine(context, path, err);
	if (r < 0) {
		return r;
	}
	p->engine = strdup(path);
	return p->engine ? 0 : error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory");
}

/* An interpreter: a module of the operator's. Other modules are the request's. */
static bool interprets(const struct prepared *p)
{
	return p->runtime->program && p->runtime->compile.count == 0;
}

static bool counts(const struct prepared *p)
{
	return p->spec.limits.instructions < LIMIT_INSTRUCTIONS_NONE;
}

int prepare_wasm_program(struct prepared *p, struct brig_error *err)
{
	struct strlist *candidates = &p->runtime->candidates;
	char engine[PATH_MAX], path[PATH_MAX];

	if (candidates->count == 0 || p->runtime->compile.count) {
		return 0;
	}
	int r = wasm_engine_find(p->policy->wasm_engine, engine, err);
	if (r < 0) {
		return r;
	}
	const char *name = strrchr(candidates->items[0], '/');
	int size = snprintf(path, sizeof(path), "%.*s%s", (int)(strrchr(engine, '/') - engine),
			    engine, name ? name : "");
	if (size < 0 || (size_t)size >= sizeof(path) || strlist_insert(candidates, 0, path) < 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	return 0;
}

static int not_prepared(const struct prepared *p, int r, struct brig_error *err)
{
	error_set(err, BRIG_E_RUNTIME, -r, "%s of provider wasm is not prepared%s: %s",
		  p->runtime->name, counts(p) ? " for counted instructions" : "",
		  r == -EPERM ? "others can write to its native code"
			      : "there is no native code of it for this engine and processor");
	/* Files that others could write to stay untrusted, whatever their mode is afterwards. */
	error_remedy(err, "let the operator %srun: brig wasm prepare %s --policy %s%s",
		     r == -EPERM ? "remove prepared/ beside the engine, and " : "",
		     p->runtime->name, p->policy->name, counts(p) ? " --counted" : "");
	return r;
}

static int find_prepared(const struct broker *broker, struct prepared *p, struct brig_error *err)
{
	const struct wasm_module module = { p->engine, p->runtime->real_program, counts(p) };
	char path[PATH_MAX];
	int r = wasm_prepared_find(broker, &module, path);

	if (r < 0) {
		return not_prepared(p, r, err);
	}
	p->prepared_module = strdup(path);
	return p->prepared_module ? 0 : error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory");
}

/* helper MODE MEMORY INSTRUCTIONS MODULE, in front of the program's own arguments. */
static int make_command(struct prepared *p, bool known)
{
	const struct brig_limits *limits = &p->spec.limits;
	uint64_t all = limits->memory_bytes;
	uint64_t program_bytes = all > 2 * ENGINE_BYTES ? all - ENGINE_BYTES : all / 2;
	struct strlist argv = { 0 };
	int r = strlist_add(&argv, WASM_HOST_PATH);

	r = r < 0 ? r : strlist_add(&argv, known ? "prepared" : "run");
	r = r < 0 ? r : strlist_addf(&argv, "%llu", (unsigned long long)program_bytes);
	r = r < 0 ? r
		  : strlist_addf(&argv, "%llu",
				 counts(p) ? (unsigned long long)limits->instructions : 0ull);
	r = r < 0 ? r : strlist_add(&argv, known ? WASM_PREPARED_PATH : p->argv.items[0]);
	/* The path of an interpreter on the host is not the program's business. */
	r = r < 0 ? r : strlist_add(&argv, known ? p->runtime->name : p->argv.items[0]);
	for (size_t i = 1; r == 0 && i < p->argv.count; i++) {
		r = strlist_add(&argv, p->argv.items[i]);
	}
	strlist_done(&p->argv);
	p->argv = argv;
	return r;
}

/* helper translate COUNTED MODULE; the caller may change the second: translate.c. */
static int make_translation(struct prepared *p)
{
	strlist_done(&p->argv);
	int r = strlist_add(&p->argv, WASM_HOST_PATH);

	r = r < 0 ? r : strlist_add(&p->argv, "translate");
	r = r < 0 ? r : strlist_add(&p->argv, "0");
	return r < 0 ? r : strlist_add(&p->argv, WASM_MODULE_PATH);
}

/* On the base of a pool, which has the engine and the prepared module. */
int prepare_wasm_request(struct prepared *p, struct brig_error *err)
{
	int r = make_command(p, true);

	return r < 0 ? error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory") : 0;
}

static void show(struct spec *spec, const char *source, const char *target)
{
	spec->binds[spec->binds_count++] = (struct spec_bind){ source, target };
}

static void show_files(struct prepared *p)
{
	struct spec *spec = &p->spec;

	show(spec, p->engine, &WASM_ENGINE_PATH[1]);
	if (p->prepared_module) {
		show(spec, p->prepared_module, &WASM_PREPARED_PATH[1]);
	}
	if (p->purpose == PURPOSE_TRANSLATE) {
		show(spec, p->runtime->real_program, &WASM_MODULE_PATH[1]);
	} else {
		spec->kind = CELL_DRIVEN; /* its descriptor 3 is for the report */
	}
	spec->prober = &WASM_HOST_PATH[1];
	spec->prober_image = wasm_host_image;
	spec->prober_size = wasm_host_image_size;
}

int prepare_wasm(struct brig_context *context, struct prepared *p, struct brig_error *err)
{
	if (!prepare_is_wasm(p)) {
		return 0;
	}
	if (wasm_host_image_size == 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOTSUP,
				 "this build of brig has no helper for WebAssembly");
	}
	int r = find_engine(context, p, err);
	r = r < 0 ? r : make_closure(p, err);
	if (r == 0 && p->purpose != PURPOSE_TRANSLATE && interprets(p)) {
		r = find_prepared(context->runtimes.broker, p, err);
	}
	if (r < 0) {
		return r;
	}
	r = p->purpose == PURPOSE_TRANSLATE ? make_translation(p)
					    : make_command(p, p->prepared_module != NULL);
	if (r < 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	if (p->runtime->engine) {
		snprintf(p->runtime->version, sizeof(p->runtime->version), "wasmtime-%s",
			 wasm_engine_version);
	}
	show_files(p);
	return 0;
}
