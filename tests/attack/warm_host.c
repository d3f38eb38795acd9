/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host program with one pool: runs Python snippets, each in a cell of its own that was made
 * ahead, and prints a line of JSON for each result. All come from one context, so those of one
 * tenant come from one template until that is replaced.
 *
 * usage: warm_host [OPTION VALUE]... -- SNIPPET...
 *  config DIR    of the operator
 *  language NAME of the snippets that follow
 *  tenant NAME   of the snippets that follow
 *  clones N      for each template
 *  age MS        of a template
 *  together 1    all at once, not one after the other
 *  value 1       ask for the value
 *  file PATH     an input of every snippet
 *  fd 1          leave a descriptor open that is not close-on-exec
 * A snippet "tenant=NAME" is not run: it changes the tenant.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <brig/brig.h>

#define SNIPPETS_MAX 64

struct host {
	struct brig_context_options options;
	struct brig_warm_options warm;
	struct brig_request request;
	struct brig_file_in file;
	bool together;
	struct brig_context *context;
	struct brig_run *runs[SNIPPETS_MAX];
	int count;
};

static _Noreturn void fail(const struct brig_error *error)
{
	fprintf(stderr, "%s\n", error->message);
	exit(1);
}

static void set(struct host *host, const char *name, char *value)
{
	if (strcmp(name, "config") == 0) {
		host->options.config_dir = value;
	} else if (strcmp(name, "language") == 0) {
		host->request.language = value;
	} else if (strcmp(name, "tenant") == 0) {
		host->request.tenant = value;
	} else if (strcmp(name, "clones") == 0) {
		host->warm.clones_max = (unsigned)atoi(value);
	} else if (strcmp(name, "age") == 0) {
		host->warm.age_ns = strtoull(value, NULL, 10) * 1000000u;
	} else if (strcmp(name, "together") == 0) {
		host->together = true;
	} else if (strcmp(name, "value") == 0) {
		host->request.want_value = true;
	} else if (strcmp(name, "file") == 0) {
		host->file = (struct brig_file_in){ .name = strrchr(value, '/') + 1,
						    .path = value,
						    .executable = true };
		host->request.files = &host->file;
		host->request.files_count = 1;
	} else if (strcmp(name, "fd") == 0) {
		for (int fd = 50; fd < 60; fd++) {
			dup2(open("/etc/passwd", O_RDONLY), fd);
		}
	} else {
		fprintf(stderr, "no option %s\n", name);
		exit(2);
	}
}

static void finish(struct brig_run *run)
{
	struct brig_error error = { 0 };

	if (brig_run_wait(run, &error) < 0) {
		fail(&error);
	}
	struct brig_result *result = brig_run_take_result(run);
	char *text = brig_result_json(result);
	puts(text);
	fflush(stdout);
	free(text);
	brig_result_free(result);
	brig_run_free(run);
}

static void run(struct host *host, const char *code)
{
	struct brig_error error = { 0 };
	struct brig_run *run = NULL;

	if (strncmp(code, "tenant=", 7) == 0) {
		host->request.tenant = code + 7;
		return;
	}
	host->request.code = code;
	/* The next one is ready before this one runs. */
	if (brig_context_warm(host->context, &host->request, 2, &error) < 0 ||
	    brig_run_start(host->context, &host->request, &run, &error) < 0) {
		fail(&error);
	}
	if (host->together && host->count < SNIPPETS_MAX) {
		host->runs[host->count++] = run;
	} else {
		finish(run);
	}
}

int main(int argc, char **argv)
{
	struct host host = {
		.options = { .size = sizeof(host.options), .warm = &host.warm },
		.warm = { .size = sizeof(host.warm) },
		.request = { .size = sizeof(host.request),
			     .language = "python",
			     .start = BRIG_START_WARM },
	};
	struct brig_error error = { 0 };
	int at = 1;

	for (; at + 1 < argc && strcmp(argv[at], "--") != 0; at += 2) {
		set(&host, argv[at], argv[at + 1]);
	}
	if (brig_context_new(&host.options, &host.context, &error) < 0) {
		fail(&error);
	}
	for (at++; at < argc; at++) {
		run(&host, argv[at]);
	}
	for (int i = 0; i < host.count; i++) {
		finish(host.runs[i]);
	}
	brig_context_free(host.context);
	return 0;
}
