/* SPDX-License-Identifier: Apache-2.0 */
/* The host's own files: see host_files.h. */
#include "gate/dns/host_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define BLANKS    " \t\r\n"
#define BYTES_MAX (1 << 20)

static void cut_comment(char *line)
{
	line[strcspn(line, "#;")] = '\0';
}

void host_files_take_server(struct host_files *files, char *line)
{
	char *rest = NULL;

	cut_comment(line);
	char *word = strtok_r(line, BLANKS, &rest);
	char *value = word ? strtok_r(NULL, BLANKS, &rest) : NULL;
	if (value && strcmp(word, "nameserver") == 0 && files->servers_count < SERVERS_MAX &&
	    net_address_parse(value, &files->servers[files->servers_count]) == 0) {
		files->servers_count++;
	}
}

static int add_line(struct host_files *files, const struct net_address *address, const char *name)
{
	if (files->lines_count % 64 == 0) {
		void *lines =
			reallocarray(files->lines, files->lines_count + 64, sizeof(*files->lines));
		if (!lines) {
			return -ENOMEM;
		}
		files->lines = lines;
	}
	struct host_line *line = &files->lines[files->lines_count];
	line->address = *address;
	files->lines_count += net_name_normal(name, strlen(name), line->name);
	return 0;
}

int host_files_take_host(struct host_files *files, char *line)
{
	struct net_address address;
	char *rest = NULL;

	cut_comment(line);
	char *word = strtok_r(line, BLANKS, &rest);
	if (!word || net_address_parse(word, &address) < 0) {
		return 0;
	}
	while ((word = strtok_r(NULL, BLANKS, &rest)) && files->lines_count < HOST_LINES_MAX) {
		if (add_line(files, &address, word) < 0) {
			return -ENOMEM;
		}
	}
	return 0;
}

static int take_server(struct host_files *files, char *line)
{
	host_files_take_server(files, line);
	return 0;
}

static int read_lines(struct host_files *files, const char *path,
		      int (*take)(struct host_files *files, char *line))
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	size_t room = 0, seen = 0;
	ssize_t n;

	while (file && (n = getline(&line, &room, file)) > 0 && (seen += (size_t)n) < BYTES_MAX) {
		if (take(files, line) < 0) {
			return -ENOMEM;
		}
	}
	return 0;
}

int host_files_read(struct host_files *ret)
{
	*ret = (struct host_files){ 0 };
	int r = read_lines(ret, "/etc/resolv.conf", take_server);

	if (r == 0) {
		r = read_lines(ret, "/etc/hosts", host_files_take_host);
	}
	if (ret->servers_count == 0) {
		ret->servers_count = net_address_parse("127.0.0.1", &ret->servers[0]) == 0 ? 1 : 0;
	}
	return r;
}

void host_files_done(struct host_files *files)
{
	free(files->lines);
	*files = (struct host_files){ 0 };
}

unsigned host_files_find(const struct host_files *files, const char *name, struct net_address *ret,
			 unsigned room)
{
	unsigned count = 0;

	/* Never sent to a name server, whatever the file contains: RFC 6761. */
	if (strcmp(name, "localhost") == 0 || net_name_is_below(name, "localhost")) {
		static const struct net_address here[] = { { 4, { 127, 0, 0, 1 } },
							   { 6, { [15] = 1 } } };
		for (; count < ARRAY_SIZE(here) && count < room; count++) {
			ret[count] = here[count];
		}
		return count;
	}
	for (unsigned i = 0; i < files->lines_count && count < room; i++) {
		if (strcmp(files->lines[i].name, name) == 0) {
			ret[count++] = files->lines[i].address;
		}
	}
	return count;
}
