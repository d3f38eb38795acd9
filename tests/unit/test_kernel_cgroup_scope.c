/* SPDX-License-Identifier: Apache-2.0 */
/* The scope of a user's systemd: when it is chosen, and managers that refuse or lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "kernel/cgroup/cgroup.h"
#include "test_kernel_cgroup_fake.h"
#include "test_kernel_dbus_peer.h"

/* A session that is not delegated, beside a user manager with memory and pids. */
static void session(struct fake *fake)
{
	char path[128];

	fake_make(fake, "0::/user.slice/session-1.scope\n");
	fake_put(fake, "cgroup.controllers", "cpu memory pids\n");
	fake_mkdir(fake, "user.slice");
	snprintf(path, sizeof(path), "user.slice/user-%u.slice", geteuid());
	fake_mkdir(fake, path);
	snprintf(path, sizeof(path), "user.slice/user-%u.slice/user@%u.service", geteuid(),
		 geteuid());
	fake_mkdir(fake, path);
	strcat(path, "/cgroup.controllers");
	fake_put(fake, path, "memory pids\n");
	fake_mkdir(fake, "run");
	fake_mkdir(fake, "run/systemd");
	snprintf(path, sizeof(path), "%s/run", fake->root);
	setenv("XDG_RUNTIME_DIR", path, 1);
	unsetenv("DBUS_SESSION_BUS_ADDRESS");
}

static struct cgroup_manager *manager(const struct fake *fake, bool no_systemd)
{
	struct cgroup_options options = { fake->root, fake->self, no_systemd, false };
	struct cgroup_manager *m = NULL;

	assert_int_equal(cgroup_manager_new(&options, &m, NULL), 0);
	return m;
}

static void test_choice(void **state)
{
	struct buf nothing = { 0 };
	struct fake fake;
	struct cgroup_manager *m;
	struct peer peer;
	char path[128];

	(void)state;
	session(&fake);
	m = manager(&fake, false);
	assert_string_equal(cgroup_manager_means(m), "none");
	assert_non_null(strstr(cgroup_manager_why(m), "cannot connect"));
	cgroup_manager_free(m);
	snprintf(path, sizeof(path), "%s/run/bus", fake.root);
	peer_start(&peer, path, "OK 1\r\n", &nothing);
	m = manager(&fake, false);
	assert_string_equal(cgroup_manager_means(m), "systemd-scope");
	assert_int_equal(cgroup_manager_layers(m),
			 LAYER_BIT(LAYER_CGROUP_MEMORY) | LAYER_BIT(LAYER_CGROUP_PIDS));
	assert_non_null(strstr(cgroup_manager_why(m), "Delegate="));
	assert_int_equal(cgroup_manager_sweep(m), 0);
	cgroup_manager_free(m);
	m = manager(&fake, true);
	assert_string_equal(cgroup_manager_means(m), "none");
	cgroup_manager_free(m);
	peer_stop(&peer);
	fake_remove(&fake);
}

static int attach(const struct buf *answer, struct brig_error *err)
{
	struct cgroup_limits limits = { 1 << 25, 10, 0 };
	struct fake fake;
	struct cgroup_manager *m;
	struct cgroup *c = NULL;
	struct cgroup_usage usage;
	struct peer peer;
	char path[128];
	short events;
	int r;

	session(&fake);
	snprintf(path, sizeof(path), "%s/run/systemd/private", fake.root);
	peer_start(&peer, path, "OK 1\r\n", answer);
	m = manager(&fake, false);
	assert_string_equal(cgroup_manager_means(m), "systemd-scope");
	assert_int_equal(cgroup_new(m, "RUN1", &limits, &c, NULL), 0);
	assert_int_equal(cgroup_clone_fd(c), -1);
	assert_int_equal(cgroup_event_fd(c, &events), -1);
	r = cgroup_attach(c, getpid(), err);
	cgroup_usage(c, &usage);
	assert_false(usage.has_memory);
	assert_false(cgroup_kill(c));
	cgroup_free(c);
	cgroup_manager_free(m);
	peer_stop(&peer);
	fake_remove(&fake);
	return r;
}

static void test_refused(void **state)
{
	struct brig_error err = { 0 };
	struct buf answer = { 0 };

	(void)state;
	peer_answer(&answer, 3, 2, "org.freedesktop.DBus.Error.AccessDenied", "not you");
	assert_int_equal(attach(&answer, &err), -EREMOTEIO);
	assert_int_equal(err.code, BRIG_E_HOST);
	assert_non_null(strstr(err.message, "not you"));
	assert_non_null(strstr(err.remedy, "Delegate=yes"));
	buf_done(&answer);
}

/* The manager reports "done" and has moved nothing: the timeout decides, the run does not start. */
static void test_liar(void **state)
{
	uint64_t start_ns = clock_now_ns();
	struct brig_error err = { 0 };
	struct buf answer = { 0 };

	(void)state;
	peer_answer(&answer, 2, 2, NULL, NULL);
	assert_int_equal(attach(&answer, &err), -ETIMEDOUT);
	assert_true(clock_now_ns() - start_ns < UINT64_C(4000000000));
	buf_done(&answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_liar),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
