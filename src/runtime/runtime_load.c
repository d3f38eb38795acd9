/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sources of runtimes: the operator's directory first, then built-in files. Loading by name
 * reads that one file; loading by alias or extension parses only files that contain the text.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/embedded.h"
#include "base/id.h"
#include "runtime/config_file.h"
#include "runtime/runtime.h"

static const char top[] = "runtimes/";
static const char extension[] = ".json";

struct library {
	const struct runtime_source *source; /* borrowed */
	int dir_fd;                          /* of the operator's runtimes/; -1: none */
	struct strlist names;
};

static void library_done(struct library *library)
{
	close_fd(&library->dir_fd);
	strlist_done(&library->names);
}

static int library_open(struct library *library, const struct runtime_source *source,
			struct brig_error *err)
{
	int fd = -ENOENT;

	*library = (struct library){ .source = source, .dir_fd = -1 };
	if (source && source->config_dir) {
		fd = config_dir_open(source, err);
	}
	if (fd < 0) {
		return fd == -ENOENT ? 0 : fd;
	}
	library->dir_fd = fd;
	return 0;
}

/* The text behind `head`; NULL: it does not begin so. */
static const char *behind(const char *text, const char *head)
{
	size_t size = strlen(head);

	return text && strncmp(text, head, size) == 0 ? text + size : NULL;
}

/* "python" of "runtimes/python.json", or of "runtimes/FOLDER/python.json". */
static bool embedded_name(const struct embedded_file *file, const char *folder, char name[64])
{
	const char *rest = behind(file->path, top);

	if (folder) {
		rest = behind(behind(rest, folder), "/");
	}
	size_t tail = sizeof(extension) - 1, size = rest ? strlen(rest) : 0;
	if (size <= tail || size - tail >= 64 || strchr(rest, '/') ||
	    strcmp(rest + size - tail, extension) != 0) {
		return false;
	}
	memcpy(name, rest, size - tail);
	name[size - tail] = '\0';
	return true;
}

static const char *folder_of(const struct library *library)
{
	return library->source ? library->source->folder : NULL;
}

static const struct embedded_file *find_embedded(const struct library *library, const char *wanted)
{
	char name[64];

	for (size_t i = 0; i < embedded_files_count; i++) {
		if (embedded_name(&embedded_files[i], folder_of(library), name) &&
		    strcmp(name, wanted) == 0) {
			return &embedded_files[i];
		}
	}
	return NULL;
}

static int library_list(struct library *library, struct brig_error *err)
{
	char name[64];
	int r = library->dir_fd < 0 ? 0 : config_dir_names(library->dir_fd, &library->names, err);

	if (r < 0) {
		return r;
	}
	for (size_t i = 0; i < embedded_files_count; i++) {
		if (embedded_name(&embedded_files[i], folder_of(library), name) &&
		    !strlist_has(&library->names, name) && strlist_add(&library->names, name) < 0) {
			return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "runtimes");
		}
	}
	return 0;
}

/* The text of a runtime file: in `own`, or built in. -ENOENT (no error filled): no such runtime. */
static int library_text(const struct library *library, const char *name, struct buf *own,
			const char **ret, size_t *ret_size, struct brig_error *err)
{
	const struct embedded_file *file;
	int r = library->dir_fd < 0
			? -ENOENT
			: config_file_read(library->source, library->dir_fd, name, own, err);

	if (r == 0) {
		*ret = own->data ? own->data : "";
		*ret_size = own->size;
		return 0;
	}
	file = r == -ENOENT ? find_embedded(library, name) : NULL;
	if (!file) {
		return r;
	}
	*ret = file->data;
	*ret_size = file->size;
	return 0;
}

static int load_one(const struct library *library, const char *name, struct runtime **ret,
		    struct brig_error *err)
{
	_cleanup_(buf_done)
	struct buf own = { 0 };
	const char *text = "";
	size_t size = 0;
	int r = library_text(library, name, &own, &text, &size, err);

	return r < 0 ? r : runtime_parse(name, text, size, ret, err);
}

typedef bool match_fn(const struct runtime *runtime, const char *text);

static bool match_alias(const struct runtime *runtime, const char *text)
{
	return strlist_has(&runtime->aliases, text);
}

static bool match_extension(const struct runtime *runtime, const char *text)
{
	return strlist_has(&runtime->extensions, text);
}

static bool match_shebang(const struct runtime *runtime, const char *text)
{
	return strlist_has(&runtime->shebangs, text);
}

/* Parses one file if it contains the quoted text (or, the second time, if it does not). */
static int try_one(const struct library *library, const char *name, const char *text,
		   const char *quoted, bool holds, match_fn *match, struct runtime **ret,
		   struct brig_error *err)
{
	_cleanup_(buf_done)
	struct buf own = { 0 };
	struct runtime *runtime = NULL;
	const char *data = "";
	size_t size = 0;
	int r = library_text(library, name, &own, &data, &size, err);

	if (r < 0) {
		return r == -ENOENT ? 0 : r; /* removed since it was listed */
	}
	if ((memmem(data, size, quoted, strlen(quoted)) != NULL) != holds) {
		return 0;
	}
	r = runtime_parse(name, data, size, &runtime, err);
	if (r < 0) {
		return r;
	}
	if (!match(runtime, text)) {
		runtime_free(runtime);
		return 0;
	}
	*ret = runtime;
	return 1;
}

/*
 * The first runtime that matches. JSON can write any text with escapes, so files without the plain
 * text are parsed too, but only when no other one matched.
 */
static int search(struct library *library, const char *text, match_fn *match, struct runtime **ret,
		  struct brig_error *err)
{
	char quoted[72];

	if ((size_t)snprintf(quoted, sizeof(quoted), "\"%s\"", text) >= sizeof(quoted)) {
		return -ENOENT;
	}
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < library->names.count; i++) {
			int r = try_one(library, library->names.items[i], text, quoted, pass == 0,
					match, ret, err);

			if (r != 0) {
				return r < 0 ? r : 0;
			}
		}
	}
	return -ENOENT;
}

static void remedy_names(const struct library *library, struct brig_error *err)
{
	_cleanup_(buf_done)
	struct buf names = { 0 };

	for (size_t i = 0; i < library->names.count; i++) {
		struct runtime *runtime = NULL;
		if (load_one(library, library->names.items[i], &runtime, NULL) == 0 &&
		    !runtime->generic) {
			buf_addf(&names, "%s%s", names.size ? ", " : "", runtime->name);
		}
		runtime_free(runtime);
	}
	error_remedy(err, "use one of %s", names.data ? names.data : "(none)");
}

/* By its name or an alias. */
static int load_named(struct library *library, const char *name, struct runtime **ret,
		      struct brig_error *err)
{
	int r = id_name_valid(name) ? load_one(library, name, ret, err) : -ENOENT;

	if (r != -ENOENT) {
		return r;
	}
	r = library_list(library, err);
	return r < 0 ? r : search(library, name, match_alias, ret, err);
}

int runtime_load(const struct runtime_source *source, const char *name, struct runtime **ret,
		 struct brig_error *err)
{
	_cleanup_(library_done)
	struct library library = { .dir_fd = -1 };
	int r = library_open(&library, source, err);

	if (r < 0) {
		return r;
	}
	r = load_named(&library, name, ret, err);
	if (r == -ENOENT) {
		r = error_set(err, BRIG_E_RUNTIME, ENOENT, "unknown language \"%.64s\"", name);
		remedy_names(&library, err);
	}
	return r;
}

static int library_open_listed(struct library *library, const struct runtime_source *source,
			       struct brig_error *err)
{
	int r = library_open(library, source, err);

	return r < 0 ? r : library_list(library, err);
}

/* A file that has disappeared meanwhile is left out. */
static int load_each(struct library *library, struct runtime **all, size_t *count,
		     struct brig_error *err)
{
	for (size_t i = 0; i < library->names.count; i++) {
		int r = load_one(library, library->names.items[i], &all[*count], err);
		if (r < 0 && r != -ENOENT) {
			return r;
		}
		*count += r == 0;
	}
	return 0;
}

int runtime_load_all(const struct runtime_source *source, struct runtime ***ret, size_t *ret_count,
		     struct brig_error *err)
{
	_cleanup_(library_done)
	struct library library = { .dir_fd = -1 };
	size_t count = 0;
	int r = library_open_listed(&library, source, err);

	if (r < 0) {
		return r;
	}
	_cleanup_free_ struct runtime **all =
		calloc(library.names.count + 1, sizeof(struct runtime *));
	if (!all) {
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "runtimes");
	}
	r = load_each(&library, all, &count, err);
	if (r < 0) {
		while (count > 0) {
			runtime_free(all[--count]);
		}
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): knows no cleanup attributes */
		return r;
	}
	*ret = TAKE_PTR(all);
	*ret_count = count;
	return 0;
}

/* The program of a #! line, without its directory; for env, the next word. */
static bool shebang_name(const char *head, size_t size, char name[64])
{
	char line[256];
	char *save = NULL, *word;
	const char *slash;
	size_t used = size < sizeof(line) ? size : sizeof(line) - 1;

	if (used < 3 || memcmp(head, "#!", 2) != 0) {
		return false;
	}
	memcpy(line, head, used);
	line[used] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	word = strtok_r(line + 2, " \t", &save);
	slash = word ? strrchr(word, '/') : NULL;
	if (word && strcmp(slash ? slash + 1 : word, "env") == 0) {
		do {
			word = strtok_r(NULL, " \t", &save);
		} while (word && (word[0] == '-' || strchr(word, '=')));
		slash = word ? strrchr(word, '/') : NULL;
	}
	return word && (size_t)snprintf(name, 64, "%s", slash ? slash + 1 : word) < 64;
}

static int search_shebang(struct library *library, const char *head, size_t size,
			  struct runtime **ret, struct brig_error *err)
{
	char name[64];
	size_t length;
	int r;

	if (!shebang_name(head, size, name)) {
		return -ENOENT;
	}
	r = search(library, name, match_shebang, ret, err);
	/* "python3.12", "lua5.4": try again without the version. */
	length = strlen(name);
	while (length > 0 && strchr("0123456789.-", name[length - 1])) {
		name[--length] = '\0';
	}
	return r == -ENOENT && length ? search(library, name, match_shebang, ret, err) : r;
}

/* Common extensions of languages that brig has no runtime for. */
static const char *extension_remedy(const char *tail)
{
	static const struct {
		const char *tail, *remedy;
	} known[] = {
		{ "ts", "TypeScript has no runtime here: compile it (tsc) and run the .js file" },
		{ "tsx", "TypeScript has no runtime here: compile it (tsc) and run the .js file" },
		{ "ipynb",
		  "a notebook is not a program: export it (jupyter nbconvert --to script)" },
	};

	for (size_t i = 0; tail && i < ARRAY_SIZE(known); i++) {
		if (strcmp(known[i].tail, tail) == 0) {
			return known[i].remedy;
		}
	}
	return "give the language, as in --lang python; brig runtimes lists them";
}

int runtime_for_file(const struct runtime_source *source, const char *path, const char *head,
		     size_t head_size, struct runtime **ret, struct brig_error *err)
{
	_cleanup_(library_done)
	struct library library = { .dir_fd = -1 };
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash ? slash + 1 : path, '.');
	int r = library_open_listed(&library, source, err);

	if (r < 0) {
		return r;
	}
	r = dot && dot[1] ? search(&library, dot + 1, match_extension, ret, err) : -ENOENT;
	if (r == -ENOENT && head) {
		r = search_shebang(&library, head, head_size, ret, err);
	}
	if (r == -ENOENT) {
		r = error_set(err, BRIG_E_RUNTIME, ENOENT,
			      "%.200s: cannot tell the language from its extension or a #! line",
			      path);
		error_remedy(err, "%s", extension_remedy(dot ? dot + 1 : NULL));
	}
	return r;
}
