/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules of the operator (interpreters) that were translated to native code before. They are in
 * prepared/ beside the engine, where only the operator can write. The name of a file is a hash of
 * all that the code depends on, so that one that is outdated is not found.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <sys/platform/x86.h>
#endif

#include "base/bytes/sha256.h"
#include "base/cleanup.h"
#include "wasm/wasm.h"

/* Changes with the settings of the engine in src/wasm_host/engine.c. */
#define SETTINGS "brig wasm settings 1"

static void add_text(struct sha256 *hash, const char *text)
{
	sha256_add_field(hash, text, strlen(text));
}

/*
 * The engine makes code for the processor that it finds. The C library knows the features already;
 * the compiler's own test would ask the processor again at every start of brig, and in a virtual
 * machine each of its 12 questions is a trap.
 */
static void add_processor(struct sha256 *hash)
{
#if defined(__x86_64__)
	const char has[] = {
		(char)CPU_FEATURE_ACTIVE(SSE4_2),   (char)CPU_FEATURE_ACTIVE(POPCNT),
		(char)CPU_FEATURE_ACTIVE(AVX),      (char)CPU_FEATURE_ACTIVE(AVX2),
		(char)CPU_FEATURE_ACTIVE(FMA),      (char)CPU_FEATURE_ACTIVE(BMI1),
		(char)CPU_FEATURE_ACTIVE(BMI2),     (char)CPU_FEATURE_ACTIVE(AVX512F),
		(char)CPU_FEATURE_ACTIVE(AVX512DQ), (char)CPU_FEATURE_ACTIVE(AVX512VL),
	};

	sha256_add_field(hash, has, sizeof(has));
#else
	add_text(hash, "another processor");
#endif
}

int wasm_prepared_name(const char *module, bool counts, char name[WASM_NAME_MAX])
{
	struct sha256 hash;
	struct stat info;
	char identity[160], hex[SHA256_HEX_SIZE];

	if (stat(module, &info) < 0) {
		return -errno;
	}
	/* Not its content: to read it takes longer than a run. Only the operator can write it. */
	snprintf(identity, sizeof(identity), "%llu %llu %llu %lld.%09ld",
		 (unsigned long long)info.st_dev, (unsigned long long)info.st_ino,
		 (unsigned long long)info.st_size, (long long)info.st_mtim.tv_sec,
		 info.st_mtim.tv_nsec);
	sha256_init(&hash);
	add_text(&hash, SETTINGS);
	add_text(&hash, wasm_engine_sha256);
	add_text(&hash, counts ? "counted" : "plain");
	add_processor(&hash);
	add_text(&hash, module);
	add_text(&hash, identity);
	sha256_hex(&hash, hex);
	snprintf(name, WASM_NAME_MAX, "%s.cwasm", hex);
	return 0;
}

int wasm_prepared_folder(const char *engine, char path[PATH_MAX])
{
	int size = (int)(strrchr(engine, '/') - engine);
	int n = snprintf(path, PATH_MAX, "%.*s/prepared", size, engine);

	return n < 0 || n >= PATH_MAX - WASM_NAME_MAX ? -ENAMETOOLONG : 0;
}

/* Native code that somebody else could have written is not executed. */
int wasm_prepared_find(const struct broker *broker, const struct wasm_module *module,
		       char path[PATH_MAX])
{
	char name[WASM_NAME_MAX];
	int r = wasm_prepared_name(module->path, module->counts, name);

	r = r < 0 ? r : wasm_prepared_folder(module->engine, path);
	if (r < 0) {
		return r;
	}
	if (access(path, F_OK) < 0) {
		return -ENOENT;
	}
	char above[PATH_MAX];
	if (!wasm_file_trusted(broker, path, S_IFDIR) || !wasm_above_trusted(broker, path, above)) {
		return -EPERM;
	}
	size_t used = strlen(path);
	snprintf(path + used, PATH_MAX - used, "/%s", name);
	if (access(path, F_OK) < 0) {
		return -ENOENT;
	}
	return wasm_file_trusted(broker, path, S_IFREG) ? 0 : -EPERM;
}
