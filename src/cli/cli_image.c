/* SPDX-License-Identifier: Apache-2.0 */
/* `brig image build-base`: brig's own image for the containers of a daemon. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/write_all.h"
#include "base/json/json_out.h"
#include "cli/cli.h"
#include "cli/cli_report.h"
#include "cli/command.h"
#include "cli/exit_status.h"
#include "lib/prepare/base_image.h"

struct image_args {
	bool json;
	const char *config, *policy, *provider, *output;
};

struct image_list {
	const struct image_args *args;
	struct buf out;
	struct json_out json;
};

static void take_name(void *user, const char *name, bool made)
{
	struct image_list *list = user;

	if (!list->args->json) {
		buf_addf(&list->out, "%s%s\n", name, made ? "" : " (was there)");
		return;
	}
	json_open(&list->json, NULL, '{');
	json_text(&list->json, "image", name);
	json_bool(&list->json, "made", made);
	json_close(&list->json, '}');
}

/* Nothing that is there is overwritten, and half a file does not stay. */
static int write_file(int dir, const char *file, const struct buf *tar, struct brig_error *err)
{
	_cleanup_close_ int fd =
		openat(dir, file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);

	if (fd < 0) {
		bool there = errno == EEXIST;
		int r = error_errno(err, BRIG_E_INPUT, errno, "%s cannot be written", file);
		error_remedy(err, "%s",
			     there ? "remove it, or name another directory"
				   : "name a directory that you can write to");
		return r;
	}
	int r = write_all(fd, tar->data, tar->size);
	if (r < 0) {
		unlinkat(dir, file, 0);
		return error_errno(err, BRIG_E_HOST, -r, "%s cannot be written", file);
	}
	return 0;
}

/* The file's name is the image's, without what is before its last slash, and with a dash. */
static int take_tar(void *user, const char *name, const struct buf *tar, struct brig_error *err)
{
	const struct image_list *list = user;
	const char *slash = strrchr(name, '/');
	char file[NAME_MAX];
	_cleanup_close_ int dir = open(list->args->output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0) {
		int r = error_errno(err, BRIG_E_INPUT, errno, "%s", list->args->output);
		error_remedy(err, "--output names a directory that exists");
		return r;
	}
	snprintf(file, sizeof(file), "%.200s.tar", slash ? slash + 1 : name);
	for (char *colon = file; (colon = strchr(colon, ':'));) {
		*colon = '-';
	}
	return write_file(dir, file, tar, err);
}

static int print(struct image_list *list)
{
	if (!list->args->json) {
		return report_text(&list->out);
	}
	json_close(&list->json, ']');
	json_close(&list->json, '}');
	return report_json(list->out.failed ? NULL : list->out.data);
}

static int build(const struct image_args *args, const char *language)
{
	struct image_list list = { .args = args };
	const struct base_images wanted = { .policy = args->policy ? args->policy : "default",
					    .provider = args->provider,
					    .language = language,
					    .take_tar = args->output ? take_tar : NULL,
					    .take_name = take_name,
					    .user = &list };
	struct brig_context_options options = { .size = sizeof(options),
						.config_dir = args->config };
	struct brig_context *context = NULL;
	struct brig_error error = { 0 };

	list.json.buf = &list.out;
	if (args->json) {
		json_open(&list.json, NULL, '{');
		json_open(&list.json, "images", '[');
	}
	int r = brig_context_new(&options, &context, &error);
	r = r < 0 ? r : build_base_images(context, &wanted, &error);
	int status = r < 0 ? report_error(&error, args->json) : print(&list);
	brig_context_free(context);
	buf_done(&list.out);
	return status;
}

static int act(void *into, const struct arguments *given)
{
	const struct image_args *args = into;
	const char *word = given->operands_count ? given->operands[0] : "";
	struct brig_error error = { 0 };

	if (strcmp(word, "build-base") == 0) {
		return build(args, given->operands_count > 1 ? given->operands[1] : "python");
	}
	error_set(&error, BRIG_E_INPUT, EINVAL, "image: %s subcommand",
		  *word ? "unknown" : "missing");
	error_remedy(&error, "brig image build-base [LANGUAGE]");
	return report_usage(&error, args->json);
}

static const struct option_info options[] = {
	OPTION_TEXT("--policy", "NAME", &complete_policy, offsetof(struct image_args, policy),
		    "the policy with the provider docker or podman (default)"),
	OPTION_TEXT("--provider", "NAME", &complete_provider, offsetof(struct image_args, provider),
		    "one of the policy's providers"),
	OPTION_DIRECTORY("--output", "DIR", offsetof(struct image_args, output),
			 "write the images to files in DIR, for docker import"),
	OPTION_FLAG("--json", offsetof(struct image_args, json), "print JSON"),
	OPTION_DIRECTORY("--config", "DIR", offsetof(struct image_args, config),
			 "the operator's policies and runtimes (/etc/brig)"),
};

static const struct {
	const char *word;
} actions[] = { { "build-base" } };
static const struct completion action_words = COMPLETE_COLUMN(actions, word);

const struct syntax image_syntax = {
	.command = "image",
	.usage = "image build-base [LANGUAGE] [OPTIONS]",
	.about = "Makes the images that containers of a language (python) begin from, for the\n"
		 "providers docker and podman, and gives them to the daemon, or writes them to\n"
		 "files. Their names are printed. Without this command the first run makes them.",
	.options = options,
	.options_count = ARRAY_SIZE(options),
	.operands_max = 2,
	.operands = &action_words,
};

int command_image(int argc, char **argv)
{
	struct image_args args = { 0 };

	return command_work(&image_syntax, argc, argv, &args, act);
}
