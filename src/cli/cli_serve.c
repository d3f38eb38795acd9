/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brig serve`: the command line of the service. The service itself is in
 * src/serve/supervisor/supervisor.c.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/cleanup.h"
#include "base/config_path.h"
#include "base/files/path.h"
#include "base/strlist.h"
#include "cli/cli.h"
#include "cli/cli_report.h"
#include "cli/command.h"
#include "cli/exit_status.h"
#include "serve/supervisor/supervisor.h"

/*
 * The options of the command line; kept, because SIGHUP reads the file again and they still apply.
 */
struct serve_args {
	const char *config;
	struct strlist listen, set;
	const char *state, *tokens, *log_level, *socket_mode, *socket_group;
	bool insecure_bind, dev, check;
};

/* Options that are keys of serve.json by another name. */
static const struct {
	const char *key;
	size_t offset;
	bool path;
} texts[] = {
	{ "state_dir", offsetof(struct serve_args, state), true },
	{ "tokens", offsetof(struct serve_args, tokens), true },
	{ "log_level", offsetof(struct serve_args, log_level), false },
	{ "socket_mode", offsetof(struct serve_args, socket_mode), false },
	{ "socket_group", offsetof(struct serve_args, socket_group), false },
};

static int no_memory(struct brig_error *err)
{
	return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "options");
}

static int set_listen(const struct serve_args *args, struct serve_config *config,
		      struct brig_error *err)
{
	const struct config_key *key = config_key_find("listen");

	if (args->listen.count > 0) { /* replaces the file's list */
		strlist_done(&config->listen);
	}
	for (size_t i = 0; i < args->listen.count; i++) {
		const char *item = args->listen.items[i];
		bool is_path = strncmp(item, "unix:", 5) == 0;
		_cleanup_free_ char *path = is_path ? path_absolute(item + 5) : NULL;
		_cleanup_free_ char *whole = NULL;

		if (is_path && (!path || asprintf(&whole, "unix:%s", path) < 0)) {
			whole = NULL;
			return no_memory(err);
		}
		int r = config_set(config, key, whole ? whole : item, err);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static int set_texts(const struct serve_args *args, struct serve_config *config,
		     struct brig_error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const char *value = *(const char *const *)((const char *)args + texts[i].offset);
		_cleanup_free_ char *path = value && texts[i].path ? path_absolute(value) : NULL;

		if (!value) {
			continue;
		}
		if (texts[i].path && !path) {
			return no_memory(err);
		}
		int r = config_set(config, config_key_find(texts[i].key), path ? path : value, err);
		if (r < 0) {
			return r;
		}
	}
	config->insecure_bind = config->insecure_bind || args->insecure_bind;
	config->dev = args->dev;
	return 0;
}

static int set_words(const struct serve_args *args, struct serve_config *config,
		     struct brig_error *err)
{
	for (size_t i = 0; i < args->set.count; i++) {
		int r = config_set_word(config, args->set.items[i], err);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/* The file first, then the command line. */
static int read_config(void *user, struct serve_config *config, struct brig_error *err)
{
	const struct serve_args *args = user;
	_cleanup_free_ char *dir = args->config ? path_absolute(args->config) : config_path();
	int r;

	if (!dir) {
		return no_memory(err);
	}
	if (args->config) {
		if (access(dir, R_OK | X_OK) < 0) {
			return error_errno(err, BRIG_E_INPUT, errno, "--config %s", args->config);
		}
		config->config_dir = strdup(dir);
	}
	r = config_load(config, dir, err);
	r = r < 0 ? r : set_listen(args, config, err);
	r = r < 0 ? r : set_texts(args, config, err);
	r = r < 0 ? r : set_words(args, config, err);
	return r < 0 ? r : config_paths(config, dir, err);
}

static void print_address(struct buf *text, const struct listen_socket *listener, bool tls)
{
	const char *place = listener->place;
	bool is_path = strncmp(place, "unix:", 5) == 0;

	buf_addf(text,
		 "brig is listening on %s. To try it:\n\n  curl %s%s http%s://%s/v1/execute \\\n",
		 place, is_path ? "--unix-socket " : "-H \"Authorization: Bearer $TOKEN\"",
		 is_path ? place + 5 : "", tls && !is_path ? "s" : "",
		 is_path ? "localhost" : place);
	buf_adds(text, "    -H 'Content-Type: application/json' \\\n"
		       "    -d '{\"language\":\"python\",\"code\":\"print(6 * 7)\"}'\n\n");
}

/* For the user at the terminal; the log has the same information. */
static void on_ready(void *user, const struct listeners *listeners)
{
	_cleanup_(buf_done)
	struct buf text = { 0 };

	(void)user;
	if (isatty(STDOUT_FILENO) != 1) {
		return;
	}
	for (unsigned i = 0; i < listeners->count; i++) {
		print_address(&text, &listeners->items[i], listeners->tls);
	}
	buf_adds(&text, "Ctrl-C stops it.\n");
	report_text(&text);
}

static int print_config(const struct serve_config *config)
{
	_cleanup_(buf_done)
	struct buf text = { 0 };

	config_show(config, &text);
	json_t *root = text.failed ? NULL : json_loadb(text.data, text.size, 0, NULL);
	_cleanup_free_ char *shown = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
	json_decref(root);
	return report_json(shown);
}

static int run(void *into, const struct arguments *given)
{
	struct serve_args *args = into;
	struct brig_error error = { 0 };
	struct serve_config config;
	int status;

	(void)given;
	config_init(&config);
	if (args->dev) {
		config.log_level = ROLE_INFO;
	}
	if (read_config(args, &config, &error) < 0) {
		status = report_usage(&error, false);
	} else if (args->check) {
		status = config_check(&config, &error) < 0 ? report_usage(&error, false)
							   : print_config(&config);
	} else {
		struct serve_options options = {
			.config = &config, .reload = read_config, .ready = on_ready, .user = args
		};
		status = serve(&options, &error) == 0 ? STATUS_OK
			 : error.code == BRIG_E_INPUT ? report_usage(&error, false)
						      : report_error(&error, false);
	}
	config_done(&config);
	return status;
}

static const struct completion log_levels = COMPLETE_COLUMN(role_levels, name);

static const struct option_info options[] = {
	OPTION_LIST("--listen", "PLACE", NULL, offsetof(struct serve_args, listen),
		    "unix:PATH or ADDRESS:PORT; repeatable"),
	OPTION_TEXT("--state", "DIR", &complete_directory, offsetof(struct serve_args, state),
		    "the directory for state"),
	OPTION_TEXT("--config", "DIR", &complete_directory, offsetof(struct serve_args, config),
		    "serve.json, policies and runtimes of the operator"),
	OPTION_TEXT("--tokens", "FILE", &complete_file, offsetof(struct serve_args, tokens),
		    "the file of tokens for access by TCP"),
	OPTION_TEXT("--socket-mode", "MODE", NULL, offsetof(struct serve_args, socket_mode),
		    "mode of unix sockets, octal (0600)"),
	OPTION_TEXT("--socket-group", "GROUP", NULL, offsetof(struct serve_args, socket_group),
		    "group of unix sockets"),
	OPTION_FLAG("--insecure-bind", offsetof(struct serve_args, insecure_bind),
		    "allow network addresses without TLS"),
	OPTION_TEXT("--log-level", "LEVEL", &log_levels, offsetof(struct serve_args, log_level),
		    "error, warning, notice, info or debug"),
	OPTION_LIST("--set", "KEY=VALUE", NULL, offsetof(struct serve_args, set),
		    "set any key of serve.json; repeatable"),
	OPTION_FLAG("--dev", offsetof(struct serve_args, dev),
		    "trial mode: state is removed at the end"),
	OPTION_FLAG("--check", offsetof(struct serve_args, check),
		    "only check the configuration, and print the effective values"),
};

const struct syntax serve_syntax = {
	.command = "serve",
	.usage = "serve [OPTIONS]",
	.about = "Serves the HTTP API until SIGTERM or Ctrl-C. Without options: on a unix socket\n"
		 "of its own user, /run/brig/brig.sock for root, $XDG_RUNTIME_DIR/brig/brig.sock\n"
		 "otherwise.",
	.options = options,
	.options_count = ARRAY_SIZE(options),
	.notes = "SIGHUP reads the configuration again. brig-serve(1) lists the keys of "
		 "serve.json.\n",
};

int command_serve(int argc, char **argv)
{
	struct serve_args args = { 0 };

	/* The ledger writes the audit chain; its roles could not write to another one. */
	(void)unsetenv("BRIG_AUDIT");
	int status = command_work(&serve_syntax, argc, argv, &args, run);

	strlist_done(&args.listen);
	strlist_done(&args.set);
	return status;
}
