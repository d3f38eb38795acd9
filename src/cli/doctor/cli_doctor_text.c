/* SPDX-License-Identifier: Apache-2.0 */
/* `brig doctor` for people: a table, remarks, each repair once, and a last line. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/doctor/cli_doctor.h"
#include "cli/terminal_escape.h"

#define NAME_WIDTH  18
#define STATE_WIDTH 9

static const char *const colours[] = {
	[PROBE_OK] = "\033[32m",
	[PROBE_DEGRADED] = "\033[33m",
	[PROBE_MISSING] = "\033[31m",
};

struct page {
	const struct diagnosis *diagnosis;
	bool colour;
	struct buf *out;
};

/* Texts from files of the host are printed on a terminal with visible characters only. */
static void put(struct page *page, const char *text)
{
	struct terminal_escape terminal = { 0 };

	terminal_escape_add(&terminal, text, strlen(text), page->out);
	terminal_escape_end(&terminal, page->out);
}

static void put_row(struct page *page, const char *name, enum probe_state state, const char *word,
		    const char *text)
{
	buf_addf(page->out, "%-*s ", NAME_WIDTH, name);
	buf_addf(page->out, "%s%-*s%s ", page->colour ? colours[state] : "", STATE_WIDTH, word,
		 page->colour ? "\033[0m" : "");
	put(page, text);
	buf_addc(page->out, '\n');
}

static void put_more(struct page *page, const char *head, const char *text)
{
	buf_addf(page->out, "%*s %s", NAME_WIDTH + 1 + STATE_WIDTH, "", head);
	put(page, text);
	buf_addc(page->out, '\n');
}

/* The three cgroup layers mostly have the same cause, which is long: it is printed once. */
static const char *detail_of(const struct page *page, int layer, char *text, size_t size)
{
	const struct probe_finding *layers = page->diagnosis->report.layers;

	for (int i = 0; i < layer && layers[layer].state == PROBE_MISSING; i++) {
		if (layers[i].state == PROBE_MISSING &&
		    strcmp(layers[i].detail, layers[layer].detail) == 0) {
			snprintf(text, size, "as %s", layer_table[i].name);
			return text;
		}
	}
	return layers[layer].detail[0] ? layers[layer].detail : layer_table[layer].about;
}

static void put_layers(struct page *page)
{
	const struct diagnosis *diagnosis = page->diagnosis;

	for (int i = 0; i < LAYER_COUNT; i++) {
		const struct probe_finding *finding = &diagnosis->report.layers[i];
		char same[64];

		put_row(page, layer_table[i].name, finding->state, probe_state_name(finding->state),
			detail_of(page, i, same, sizeof(same)));
		if (finding->state == PROBE_MISSING) {
			put_more(page, "lost: ", layer_table[i].loss);
			put_more(page, "",
				 doctor_waives(diagnosis, (enum layer)i)
					 ? "the policy does not require it"
					 : "the policy requires it: nothing can run");
		}
	}
}

/* Available calls share a row. */
static void put_calls(struct page *page)
{
	const struct probe_finding *calls = page->diagnosis->report.calls;
	char there[256] = "";

	for (int i = 0; i < PROBE_CALLS; i++) {
		size_t used = strlen(there);

		if (calls[i].state == PROBE_OK) {
			snprintf(there + used, sizeof(there) - used, "%s%s", used ? " " : "",
				 probe_call_table[i].name);
		}
	}
	if (there[0]) {
		put_row(page, "system calls", PROBE_OK, "ok", there);
	}
	for (int i = 0; i < PROBE_CALLS; i++) {
		if (calls[i].state != PROBE_OK) {
			put_row(page, probe_call_table[i].name, calls[i].state,
				probe_state_name(calls[i].state), calls[i].detail);
			put_more(page, "lost: ", probe_call_table[i].loss);
		}
	}
}

static void put_host(struct page *page)
{
	const struct brig_context *context = page->diagnosis->context;
	const struct probe_host *host = &page->diagnosis->report.host;
	const char *means = cgroup_manager_means(context->groups);
	const char *where = cgroup_manager_where(context->groups);

	put_row(page, "cgroups", PROBE_OK, means, where);
	if (context->cache_dir) {
		put_row(page, "cache", PROBE_OK, "ok", context->cache_dir);
	} else {
		put_row(page, "cache", PROBE_DEGRADED, "none",
			"no private directory of this user: each run compiles again");
		put_more(page, "repair: ",
			 host->uid == 0
				 ? "install -d -m 700 -o root /var/cache/brig"
				 : "mkdir -p -m 700 \"${XDG_CACHE_HOME:-$HOME/.cache}/brig\"");
	}
	for (size_t i = 0; i < probe_remarks_count; i++) {
		if (probe_remarks[i].applies(host)) {
			put_row(page, probe_remarks[i].name, PROBE_DEGRADED, "note",
				probe_remarks[i].detail);
			if (probe_remarks[i].repair[0]) {
				put_more(page, "repair: ", probe_remarks[i].repair);
			}
		}
	}
}

static void put_providers(struct page *page)
{
	for (size_t i = 0; providers[i]; i++) {
		const struct probe_finding *found = &page->diagnosis->survey.found[i];
		char name[64];

		snprintf(name, sizeof(name), "provider %s", providers[i]->name);
		put_row(page, name, found->state, probe_state_name(found->state),
			found->detail[0] ? found->detail : providers[i]->about);
		if (found->state == PROBE_MISSING) {
			put_more(page, "lost: ", SURVEY_PROVIDER_LOSS);
		}
	}
}

static void put_warm(struct page *page)
{
	for (size_t i = 0; i < page->diagnosis->warm_count; i++) {
		const struct doctor_warm *warm = &page->diagnosis->warm[i];
		char name[sizeof(warm->language) + 8];

		snprintf(name, sizeof(name), "warm %s", warm->language);
		put_row(page, name, warm->found.state, probe_state_name(warm->found.state),
			warm->found.detail);
		if (warm->found.state != PROBE_OK) {
			put_more(page, "lost: ", DOCTOR_WARM_LOSS);
		}
	}
}

/* One repair, with all findings that it fixes; `count` findings of a kind, named by `name`. */
static void put_repairs(struct page *page, const struct probe_finding *findings, int count,
			const char *(*name)(int))
{
	for (int i = 0; i < count; i++) {
		const char *repair = findings[i].repair;
		bool told = repair[0] == '\0';

		for (int j = 0; j < i && !told; j++) {
			told = strcmp(findings[j].repair, repair) == 0;
		}
		if (told) {
			continue;
		}
		buf_adds(page->out, "\nrepair");
		for (int j = i; j < count; j++) {
			if (strcmp(findings[j].repair, repair) == 0) {
				buf_addf(page->out, " %s", name(j));
			}
		}
		buf_adds(page->out, ":\n  ");
		put(page, repair);
		buf_addc(page->out, '\n');
	}
}

static const char *layer_name(int layer)
{
	return layer_table[layer].name;
}

static const char *call_name(int call)
{
	return probe_call_table[call].name;
}

/* "ok" is about the policy's requirements; merely slow parts are reported as well. */
static void put_slow(struct page *page)
{
	const char *before = "; started cold each time: ";

	for (size_t i = 0; i < page->diagnosis->warm_count; i++) {
		const struct doctor_warm *warm = &page->diagnosis->warm[i];

		if (warm->found.state != PROBE_OK) {
			buf_addf(page->out, "%s%s", before, warm->language);
			before = ", ";
		}
	}
}

static void put_verdict(struct page *page)
{
	const struct diagnosis *diagnosis = page->diagnosis;
	const char *policy = diagnosis->policy->name;
	char lacking[512];

	buf_adds(page->out, page->colour ? colours[diagnosis->ok ? PROBE_OK : PROBE_MISSING] : "");
	if (diagnosis->ok) {
		buf_addf(page->out, "\nok: this host has all that policy %s requires", policy);
		put_slow(page);
	} else {
		layer_list(diagnosis->lacking, lacking, sizeof(lacking));
		buf_addf(page->out, "\nnot ok: policy %s requires what this host lacks: %s%s%s%s",
			 policy, lacking,
			 diagnosis->lacking && diagnosis->provider_lacking ? ", " : "",
			 diagnosis->provider_lacking ? "provider " : "",
			 diagnosis->provider_lacking ? diagnosis->policy->provider->name : "");
	}
	buf_adds(page->out, page->colour ? "\033[0m\n" : "\n");
}

void doctor_text(const struct diagnosis *diagnosis, bool colour, struct buf *out)
{
	struct page page = { .diagnosis = diagnosis, .colour = colour, .out = out };
	const struct probe_report *report = &diagnosis->report;

	buf_addf(out, "Linux %s, %s, policy %s\n\n", report->host.kernel,
		 report->host.uid == 0 ? "as root" : "as an ordinary user",
		 diagnosis->policy->name);
	put_layers(&page);
	buf_addc(out, '\n');
	put_calls(&page);
	put_host(&page);
	put_providers(&page);
	put_warm(&page);
	put_repairs(&page, report->layers, LAYER_COUNT, layer_name);
	put_repairs(&page, report->calls, PROBE_CALLS, call_name);
	put_verdict(&page);
}
