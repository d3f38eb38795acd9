/* SPDX-License-Identifier: Apache-2.0 */
/* The prepared run as an object: connects its spec, adds inputs, frees it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/block.h"
#include "base/cleanup.h"
#include "lib/prepare/prepare.h"

void prepared_connect(struct prepared *p)
{
	struct spec *spec = &p->spec;

	spec->closure = &p->closure;
	spec->inputs = p->inputs;
	spec->inputs_count = p->inputs_count;
	spec->mounts = p->mounts;
	spec->mounts_count = p->mounts_count;
	spec->argv = (const char *const *)p->argv.items;
	spec->envp = (const char *const *)p->env.items;
	spec->workdir = p->workdir;
	spec->filter = p->filter.count ? &p->filter : NULL;
}

int prepared_add_input(struct prepared *p, const char *name, void *data, uint64_t size, int fd,
		       mode_t mode, struct brig_error *err)
{
	struct spec_input *inputs = realloc(p->inputs, (p->inputs_count + 1) * sizeof(*inputs));
	char *copy = strdup(name);

	if (inputs) {
		p->inputs = inputs;
	}
	if (!inputs || !copy) {
		free(copy);
		free(data);
		close_fd(&fd);
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for input files");
	}
	inputs[p->inputs_count++] = (struct spec_input){
		.name = copy, .data = data, .size = size, .fd = fd, .mode = mode
	};
	prepared_connect(p);
	return 0;
}

void prepared_share_input(struct prepared *p, const void *data, struct block *block)
{
	struct spec_input *input = &p->inputs[p->inputs_count - 1];

	input->data = data;
	input->block = block_ref(block);
}

void prepared_done(struct prepared *p)
{
	for (size_t i = 0; i < p->inputs_count; i++) {
		free((char *)(uintptr_t)p->inputs[i].name);
		if (!p->inputs[i].block) {
			free((void *)(uintptr_t)p->inputs[i].data);
		}
		block_unref(p->inputs[i].block);
		close_fd(&p->inputs[i].fd);
	}
	for (size_t i = 0; i < p->mounts_count; i++) {
		free((char *)(uintptr_t)p->mounts[i].name);
		free((char *)(uintptr_t)p->mounts[i].path);
		close_fd(&p->mounts[i].fd);
		close_fd(&p->mounts[i].tree);
	}
	if (p->workdir) {
		p->spec.provider->remove_workdir(p->workdir);
	}
	free(p->workdir);
	free(p->inputs);
	free(p->mounts);
	free(p->code);
	free(p->driver);
	free(p->engine);
	free(p->prepared_module);
	prepared_gate_free(p->gate);
	guard_done(&p->guard);
	if (!p->borrowed) {
		policy_free(p->policy);
		runtime_free(p->runtime);
		free(p->venv);
		closure_done(&p->closure);
		bpf_program_done(&p->filter);
		monitor_done(&p->monitor);
	}
	strlist_done(&p->argv);
	strlist_done(&p->cold_argv);
	if (!p->borrowed) {
		strlist_done(&p->waiting.argv);
		buf_done(&p->waiting.text);
	}
	strlist_done(&p->env);
	close_fd(&p->ids);
	close_fd(&p->spec.devices);
	if (p->spec.gate_ports_count) {
		close_fd(&p->spec.gate);
	}
	close_fd(&p->workdir_fd);
	*p = (struct prepared){ .ids = -1, .workdir_fd = -1 };
	p->spec.devices = p->spec.gate = -1;
}
