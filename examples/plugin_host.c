/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plug-in host: text goes through every plug-in of a directory, in the order of their names.
 *
 *	plugin_host DIRECTORY < text
 *
 * A plug-in is a source file in any language that brig knows: it reads the text from standard input
 * and prints the changed text. None of them can see the host's files, the network or the other
 * plug-ins. A plug-in that fails, takes too long or does something forbidden is skipped: the reason
 * is printed on standard error, for its author.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <brig/brig.h>

#define TEXT_BYTES_MAX (1u << 20)

struct text {
	char *data;
	size_t size;
};

static void set_text(struct text *text, const char *data, size_t size)
{
	char *copy = malloc(size + 1);

	if (!copy) {
		perror("plugin_host");
		exit(1);
	}
	memcpy(copy, data, size);
	free(text->data);
	text->data = copy;
	text->size = size;
}

static void complain(const char *name, const struct brig_result *result)
{
	fprintf(stderr, "plugin_host: %s is left out: %s (%s)\n", name,
		brig_status_name(result->status), result->cause);
	if (result->denied) {
		fprintf(stderr, "  refused: %s\n", result->denial.call);
	}
	if (result->remedy[0]) {
		fprintf(stderr, "  %s\n", result->remedy);
	}
}

static void pass_through(struct brig_context *brig, const char *dir, const char *name,
			 struct text *text)
{
	char path[4096];
	struct brig_error error = { 0 };
	struct brig_result *result = NULL;
	struct brig_request options = {
		.size = sizeof(options),
		.stdin_data = text->data,
		.stdin_size = text->size,
		.limits = { .cpu_ns = 1000ull * 1000 * 1000,
			    .memory_bytes = 64ull << 20,
			    .stdout_bytes = TEXT_BYTES_MAX },
	};

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) >= sizeof(path)) {
		return;
	}
	if (brig_execute_file(brig, path, &options, &result, &error) < 0) {
		fprintf(stderr, "plugin_host: %s cannot be run: %s\n  %s\n", name, error.message,
			error.remedy);
		return;
	}
	/* Half a text is worse than the unchanged one. */
	if (result->status == BRIG_OK && !result->stdout_truncated) {
		set_text(text, result->stdout_data, result->stdout_size);
	} else {
		complain(name, result);
	}
	brig_result_free(result);
}

static int is_plugin(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
	static char input[TEXT_BYTES_MAX];
	struct brig_context *brig = NULL;
	struct brig_error error = { 0 };
	struct dirent **plugins = NULL;
	struct text text = { 0 };

	if (argc != 2) {
		fprintf(stderr, "usage: plugin_host DIRECTORY\n");
		return 2;
	}
	int count = scandir(argv[1], &plugins, is_plugin, alphasort);
	if (count < 0) {
		perror(argv[1]);
		return 2;
	}
	if (brig_context_new(NULL, &brig, &error) < 0) {
		fprintf(stderr, "plugin_host: %s\n", error.message);
		return 2;
	}
	set_text(&text, input, fread(input, 1, sizeof(input), stdin));
	for (int i = 0; i < count; i++) {
		pass_through(brig, argv[1], plugins[i]->d_name, &text);
		free(plugins[i]);
	}
	fwrite(text.data, 1, text.size, stdout);
	free(text.data);
	free(plugins);
	brig_context_free(brig);
	return 0;
}
