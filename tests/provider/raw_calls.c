/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An interpreter for WebAssembly that is hostile: its programs are lists of raw calls of WASI, with
 * any pointer and any count (test_wasm_raw.py). It can be cloned from a template as Python can: it
 * asks for its order as data/drivers/wasm.py does.
 *
 * A line of a program is a word and up to four numbers; `again N` repeats the line before. A number
 * is decimal or 0x...; A+N is a place in a block of 1 MiB, E-N and E+N are places before and after
 * the end of the memory. The results of all calls are printed to standard error at the end.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS 4
#define BLOCK   (1u << 20)

#define WASI(function, ...)                                                                        \
	__attribute__((import_module("wasi_snapshot_preview1"), import_name(#function)))           \
	uint32_t raw_##function(__VA_ARGS__)

WASI(fd_close, uint32_t);
WASI(fd_fdstat_get, uint32_t, uint32_t);
WASI(fd_filestat_get, uint32_t, uint32_t);
WASI(fd_read, uint32_t, uint32_t, uint32_t, uint32_t);
WASI(fd_renumber, uint32_t, uint32_t);
WASI(fd_write, uint32_t, uint32_t, uint32_t, uint32_t);
WASI(random_get, uint32_t, uint32_t);

static uint8_t block[BLOCK];
static char results[1u << 16];
static size_t results_size;

static void add(const char *word, uint32_t value)
{
	results_size += (size_t)snprintf(results + results_size, sizeof(results) - results_size,
					 "%s %u\n", word, value);
}

static uint32_t memory_size(void)
{
	return (uint32_t)__builtin_wasm_memory_size(0) << 16;
}

static uint8_t *at(uint32_t address)
{
	return (uint8_t *)(uintptr_t)address; /* a bad one is a trap, as the program wants it */
}

/* --- the words of a program ------------------------------------------------------------------- */

/* Fills the engine's stack, with a call at each depth. */
__attribute__((noinline)) static uint32_t sink(uint32_t fd, uint32_t parts, uint32_t depth)
{
	uint32_t error = raw_fd_write(fd, parts, 0, parts);

	return depth == 0 ? error : error + sink(fd, parts, depth - 1) * 3 + 1;
}

static uint32_t word_write(const uint32_t *n)
{
	return raw_fd_write(n[0], n[1], n[2], n[3]);
}

static uint32_t word_read(const uint32_t *n)
{
	return raw_fd_read(n[0], n[1], n[2], n[3]);
}

static uint32_t word_close(const uint32_t *n)
{
	return raw_fd_close(n[0]);
}

static uint32_t word_renumber(const uint32_t *n)
{
	return raw_fd_renumber(n[0], n[1]);
}

static uint32_t word_state(const uint32_t *n)
{
	return raw_fd_fdstat_get(n[0], n[1]);
}

static uint32_t word_facts(const uint32_t *n)
{
	return raw_fd_filestat_get(n[0], n[1]);
}

static uint32_t word_random(const uint32_t *n)
{
	return raw_random_get(n[0], n[1]);
}

static uint32_t word_sink(const uint32_t *n)
{
	return sink(n[0], n[1], n[2]);
}

static uint32_t word_store(const uint32_t *n)
{
	memcpy(at(n[0]), &n[1], sizeof(n[1]));
	return n[1];
}

static uint32_t word_load(const uint32_t *n)
{
	uint32_t value = 0;

	memcpy(&value, at(n[0]), sizeof(value));
	return value;
}

static uint32_t word_fill(const uint32_t *n)
{
	memset(at(n[0]), (int)n[2], n[1]);
	return n[1];
}

/* parts AT COUNT DATA SIZE: as many parts, all of the same data. */
static uint32_t word_parts(const uint32_t *n)
{
	for (uint32_t i = 0; i < n[1]; i++) {
		memcpy(at(n[0] + 8 * i), &n[2], sizeof(n[2]));
		memcpy(at(n[0] + 8 * i + 4), &n[3], sizeof(n[3]));
	}
	return n[1];
}

static uint32_t word_grow(const uint32_t *n)
{
	return (uint32_t)__builtin_wasm_memory_grow(0, n[0]);
}

static const struct word {
	const char *name;
	uint32_t (*function)(const uint32_t *numbers);
} words[] = {
	{ "close", word_close },   { "facts", word_facts }, { "fill", word_fill },
	{ "grow", word_grow },     { "load", word_load },   { "parts", word_parts },
	{ "random", word_random }, { "read", word_read },   { "renumber", word_renumber },
	{ "sink", word_sink },     { "state", word_state }, { "store", word_store },
	{ "write", word_write },
};

static uint32_t number(const char *text)
{
	if (text[0] == 'A') {
		return (uint32_t)(uintptr_t)block + (uint32_t)strtol(text + 1, NULL, 0);
	}
	if (text[0] == 'E') {
		return memory_size() + (uint32_t)strtol(text + 1, NULL, 0);
	}
	return (uint32_t)strtoll(text, NULL, 0);
}

static void run_line(char *line)
{
	static const struct word *last;
	static uint32_t numbers[NUMBERS];
	char *rest = NULL;
	const char *name = strtok_r(line, " ", &rest);

	if (!name) {
		return;
	}
	if (strcmp(name, "again") == 0) {
		uint32_t sum = 0;
		for (uint32_t i = number(rest); i > 0 && last; i--) {
			sum += last->function(numbers);
		}
		add(name, sum);
		return;
	}
	for (size_t i = 0; i < NUMBERS; i++) {
		const char *text = strtok_r(NULL, " ", &rest);
		numbers[i] = text ? number(text) : 0;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(name, words[i].name) == 0) {
			last = &words[i];
			add(name, last->function(numbers));
			return;
		}
	}
	fprintf(stderr, "no word %s\n", name);
	exit(2);
}

/* --- its program ------------------------------------------------------------------------------ */

static char *read_file(const char *path)
{
	static char text[BLOCK];
	FILE *file = fopen(path, "r");

	if (!file) {
		exit(3);
	}
	fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	return text;
}

/* Calls that brig's part of the template must bear before there is an order. */
static void before_the_order(void)
{
	uint32_t end = memory_size(), here = (uint32_t)(uintptr_t)block;

	add("early", raw_random_get(end - 16, 17)); /* does not make it a template */
	add("early", raw_random_get(here, 19));     /* is no order yet */
	add("early", raw_fd_write(1, here, UINT32_MAX, end - 1));
	add("early", raw_fd_fdstat_get(1, end - 8));
	add("early", raw_fd_fdstat_get(0x80000001, here));
	add("early", raw_fd_filestat_get(1, UINT32_MAX - 8));
}

/* COUNT, SIZE, words, variables, source: in pieces, and with more room than it needs. */
static char *wait_for_order(void)
{
	uint32_t here = (uint32_t)(uintptr_t)block;
	char digits[20] = "";

	before_the_order();
	raw_random_get(here, 17);
	add("late", raw_random_get(memory_size() - 18, 19)); /* nor is this waited for */
	add("late", raw_random_get(here, 17));
	raw_random_get((uint32_t)(uintptr_t)digits, 19);
	size_t size = strtoul(digits, NULL, 10);
	char *order = calloc(1, size + 100);
	for (size_t i = 0; i + 1 < size; i++) {
		raw_random_get((uint32_t)(uintptr_t)(order + i), 1);
	}
	add("late", raw_random_get(memory_size() - 10, UINT32_MAX));
	raw_random_get((uint32_t)(uintptr_t)(order + size - 1), 100);
	for (size_t i = size; i < size + 99; i++) {
		if (order[i]) {
			exit(4);
		}
	}
	size_t source = strtoul(order + strlen(order) + 1, NULL, 10);
	return order + size - source;
}

int main(int argc, char **argv)
{
	char *rest = NULL;

	if (argc < 2) {
		return 5;
	}
	char *text = strcmp(argv[1], "-c") == 0 ? wait_for_order() : read_file(argv[1]);
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		run_line(line);
	}
	fputs(results, stderr);
	return 0;
}
