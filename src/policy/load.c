/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads a policy from a name or a text: the policy that it extends, its own keys, the operator's
 * ceiling, and a hash over all of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/bytes/sha256.h"
#include "base/cleanup.h"
#include "base/embedded.h"
#include "base/id.h"
#include "policy/policy_reader.h"
#include "policy/source.h"
#include "policy/trace.h"

#define POLICIES "policies/"
#define JSON     ".json"

static void policy_freep(struct policy **policy)
{
	policy_free(*policy);
}

/* A ceiling that is not set equals the limit; a compiler gets the same limits as a program. */
static void fill_limits(struct policy *policy)
{
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		uint64_t limit = *limit_of(&policy->limits, &limit_table[i]);
		uint64_t *ceiling = limit_of(&policy->ceiling, &limit_table[i]);
		uint64_t *compile = limit_of(&policy->compile_limits, &limit_table[i]);

		*ceiling = *ceiling ? *ceiling : limit;
		*compile = *compile ? *compile : limit;
	}
}

/* The text of a policy by name. 1, 0 (not found) or negative. */
static int find_text(const struct policy_source *source, const char *name, struct policy_text *ret,
		     struct brig_error *err)
{
	char file[sizeof(POLICIES) + 64 + sizeof(JSON)];
	int r = 0;

	snprintf(file, sizeof(file), POLICIES "%s" JSON, name);
	if (source) {
		r = policy_text_given(source, name, ret, err);
	}
	if (r == 0 && source && source->config_dir) {
		r = policy_text_configured(source, file, ret, err);
	}
	return r != 0 ? r : policy_text_built_in(file, ret, err);
}

/* For later questions about the deciding line. */
static int keep(const struct policy_source *source, enum trace_level level, const char *name,
		const struct policy_text *text, struct brig_error *err)
{
	return source && source->trace ? policy_trace_add(source->trace, level, name, text, err)
				       : 0;
}

static int apply_text(const struct json_doc *doc, struct policy *policy, const char *config_dir,
		      struct brig_error *err)
{
	struct policy_reader reader = { doc, policy, err };
	int r = read_policy(&reader);

	if (r < 0) {
		return r;
	}
	fill_limits(policy);
	return policy_check(&reader, config_dir);
}

/* Loads the policy that `name` extends: one level, and its own name means the built-in one. */
static int apply_parent(const struct json_doc *doc, const char *name, struct policy *policy,
			const struct policy_source *source, struct sha256 *hash,
			struct brig_error *err)
{
	const char *parent = json_string_value(json_object_get(doc->root, "extends"));
	_cleanup_(policy_text_done)
	struct policy_text text = { 0 };
	_cleanup_(json_doc_done)
	struct json_doc above = { 0 };
	int r = 0;

	if (!parent) {
		return 0; /* not set; or not a text, which the reader will report */
	}
	if (id_name_valid(parent)) {
		r = find_text(strcmp(parent, name) == 0 ? NULL : source, parent, &text, err);
	}
	if (r < 0) {
		return r;
	}
	if (r == 0) {
		json_doc_error(doc, "extends", BRIG_E_POLICY, err, "policy not found: \"%.64s\"",
			       parent);
		error_remedy(err, "give an existing policy: default, strict or one of your own");
		return -ENOENT;
	}
	r = json_doc_load(&above, text.place, text.data, text.size, err);
	if (r < 0) {
		return r;
	}
	if (json_object_get(above.root, "extends")) {
		json_doc_error(doc, "extends", BRIG_E_POLICY, err,
			       "\"%s\" extends another policy itself: only one level", parent);
		error_remedy(err, "extend that policy directly");
		return -EINVAL;
	}
	r = apply_text(&above, policy, source ? source->config_dir : NULL, err);
	if (r < 0) {
		return r;
	}
	sha256_add_field(hash, text.data, text.size);
	snprintf(policy->extends, sizeof(policy->extends), "%s", parent);
	return keep(source, TRACE_PARENT, parent, &text, err);
}

static int apply_operator(const struct policy_source *source, struct policy *policy,
			  struct sha256 *hash, bool *chained, struct brig_error *err)
{
	_cleanup_(policy_text_done)
	struct policy_text text = { 0 };
	_cleanup_(json_doc_done)
	struct json_doc doc = { 0 };
	int r = source && source->config_dir
			? policy_text_configured(source, "ceiling" JSON, &text, err)
			: 0;

	if (r <= 0) {
		return r;
	}
	r = json_doc_load(&doc, text.place, text.data, text.size, err);
	if (r < 0) {
		return r;
	}
	*chained = true;
	sha256_add_field(hash, text.data, text.size);
	r = keep(source, TRACE_OPERATOR, "ceiling", &text, err);
	if (r < 0) {
		return r;
	}
	return read_operator_ceiling(&(struct policy_reader){ &doc, policy, err });
}

/*
 * The path of a mount must not contain a link, whose owner could change the target. A missing path
 * is not an error yet: only a run that mounts it needs it.
 */
static int check_links(const struct policy *policy, const struct json_doc *doc,
		       struct brig_error *err)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_DIRECTORY,
		.resolve = RESOLVE_NO_SYMLINKS,
	};

	for (size_t i = 0; i < policy->mounts_count; i++) {
		_cleanup_close_ int fd = (int)syscall(SYS_openat2, AT_FDCWD, policy->mounts[i].path,
						      &how, sizeof(how));
		char path[POLICY_PATH_MAX];

		if (fd >= 0 || (errno != ELOOP && errno != ENOTDIR)) {
			continue;
		}

		bool link = errno == ELOOP;

		snprintf(path, sizeof(path), "mounts[%zu].path", i);
		json_doc_error(doc, path, BRIG_E_POLICY, err, "\"%.128s\" %s",
			       policy->mounts[i].path,
			       link ? "is a link, or contains one" : "is not a directory");
		error_remedy(err, "write the real path (realpath %.128s)", policy->mounts[i].path);
		return -EINVAL;
	}
	return 0;
}

static int build(const struct policy_source *source, const char *name,
		 const struct policy_text *text, struct policy **ret, struct brig_error *err)
{
	const char *config_dir = source ? source->config_dir : NULL;
	_cleanup_(policy_freep)
	struct policy *policy = policy_new();
	_cleanup_(json_doc_done)
	struct json_doc doc = { 0 };
	struct sha256 plain, chain;

	if (!policy) {
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "policy %s", name);
	}
	int r = json_doc_load(&doc, text->place, text->data, text->size, err);
	if (r < 0) {
		return r;
	}
	r = keep(source, TRACE_OWN, name, text, err);
	if (r < 0) {
		return r;
	}
	sha256_init(&plain);
	sha256_add(&plain, text->data, text->size);
	sha256_init(&chain);
	sha256_add_field(&chain, text->data, text->size);

	bool chained = json_object_get(doc.root, "extends") != NULL;

	r = apply_parent(&doc, name, policy, source, &chain, err);
	if (r < 0) {
		return r;
	}
	r = apply_text(&doc, policy, config_dir, err);
	if (r < 0) {
		return r;
	}
	r = config_dir ? check_links(policy, &doc, err) : 0;
	if (r < 0) {
		return r;
	}
	r = apply_operator(source, policy, &chain, &chained, err);
	if (r < 0) {
		return r;
	}
	r = launcher_apply(source, &doc, policy, &chain, &chained, err);
	r = r < 0 ? r : machine_apply(source, &doc, policy, &chain, &chained, err);
	if (r < 0) {
		return r;
	}
	r = policy_network_check_reasons(&policy->network, name, err);
	if (r < 0) {
		return r;
	}
	r = syscalls_resolve(&policy->syscalls, &policy->filter, err);
	if (r < 0) {
		return r;
	}
	snprintf(policy->name, sizeof(policy->name), "%s", name);
	sha256_hex(chained ? &chain : &plain, policy->hash);
	*ret = TAKE_PTR(policy);
	return 0;
}

static int no_policy(const struct policy_source *source, const char *name, struct brig_error *err)
{
	_cleanup_(strlist_done)
	struct strlist names = { 0 };
	char list[256] = "";
	size_t used = 0;

	error_set(err, BRIG_E_POLICY, ENOENT, "policy not found: \"%.64s\"", name);
	if (policy_names(source, &names, NULL) < 0) {
		return -ENOENT;
	}
	for (size_t i = 0; i < names.count && used < sizeof(list) - 70; i++) {
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
					 i > 0 ? ", " : "", names.items[i]);
	}
	error_remedy(err, "available: %s", list);
	return -ENOENT;
}

int policy_load(const struct policy_source *source, const char *name, struct policy **ret,
		struct brig_error *err)
{
	_cleanup_(policy_text_done)
	struct policy_text text = { 0 };
	int r;

	if (!name || !id_name_valid(name)) {
		error_set(err, BRIG_E_INPUT, EINVAL, "\"%.64s\" is not a valid policy name",
			  name ? name : "");
		error_remedy(err, "use letters, digits, '.', '_' and '-', at most 64; not a path");
		return -EINVAL;
	}
	r = find_text(source, name, &text, err);
	if (r <= 0) {
		return r < 0 ? r : no_policy(source, name, err);
	}
	return build(source, name, &text, ret, err);
}

/* "dir/mine.json" is called "mine". */
static void name_from(const char *place, char name[65])
{
	const char *base = strrchr(place, '/');
	size_t length;

	base = base ? base + 1 : place;
	length = strlen(base);
	if (length > strlen(JSON) && strcmp(base + length - strlen(JSON), JSON) == 0) {
		length -= strlen(JSON);
	}
	snprintf(name, 65, "%.*s", length < 64 ? (int)length : 64, base);
	if (!id_name_valid(name)) {
		snprintf(name, 65, "unnamed");
	}
}

int policy_parse(const char *name, const char *text, size_t size, struct policy **ret,
		 struct brig_error *err)
{
	char short_name[65];

	name_from(name, short_name);

	const struct policy_text given = {
		.place = (char *)(uintptr_t)name,
		.data = text,
		.size = size,
	};

	return build(NULL, short_name, &given, ret, err);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_built_in(struct strlist *names)
{
	for (size_t i = 0; i < embedded_files_count; i++) {
		const char *path = embedded_files[i].path;
		size_t length = strlen(path);

		if (strncmp(path, POLICIES, strlen(POLICIES)) != 0) {
			continue;
		}
		int r = strlist_addf(names, "%.*s", (int)(length - strlen(POLICIES) - strlen(JSON)),
				     path + strlen(POLICIES));
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

int policy_names(const struct policy_source *source, struct strlist *ret, struct brig_error *err)
{
	_cleanup_(strlist_done)
	struct strlist names = { 0 };
	int r = add_built_in(&names);

	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "policies");
	}
	if (source && source->config_dir) {
		r = policy_names_configured(source, &names, err);
	}
	if (r < 0) {
		return r;
	}
	if (names.count > 1) {
		qsort(names.items, names.count, sizeof(*names.items), by_name);
	}

	struct strlist old = *ret;

	*ret = names;
	names = old;
	return 0;
}
