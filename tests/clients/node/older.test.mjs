// SPDX-License-Identifier: Apache-2.0
// guard and network by every door; SecureSandbox and the older execute_code().
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import * as brig from "../../../clients/javascript/index.mjs";

const doors = JSON.parse(process.env.DOORS);
const { execute_code, close_session } = brig.legacy;
const KEYS = [
	"error_code",
	"error_message",
	"execution_time",
	"exit_code",
	"limits_applied",
	"resource_usage",
	"status",
	"stderr",
	"stdout",
];

for (const [door, options] of Object.entries(doors)) {
	const client = new brig.Client(options);

	test(`${door}: guard`, async () => {
		const result = await client.execute("x = 1\nimport socket", { guard: "imports" });
		assert.equal(result.status, "rejected");
		assert.deepEqual(
			[result.verdict.refusal.rule, result.verdict.refusal.line],
			["import", 2],
		);
		assert.match(result.why, /socket/);
		const plain = await client.execute("import socket");
		assert.deepEqual([plain.ok, plain.verdict.refusal, plain.network], [true, null, []]);
		await assert.rejects(client.execute("1", { guard: "bogus" }), brig.Problem);
		await assert.rejects(client.execute("1", { network: "example.org" }), /list/);
	});

	test(`${door}: provider`, async () => {
		const result = await client.execute("1", { provider: "native" });
		assert.equal(result.provider, "native");
		await assert.rejects(client.execute("1", { provider: "local" }), /does not allow the provider local/);
	});

	test(`${door}: venv`, async () => {
		await assert.rejects(client.execute("1", { venv: "no-such" }), /virtualenv .*no-such/);
	});
}

test("guard of a session, and of its fork", async () => {
	const client = new brig.Client(doors.unix);
	const session = await client.session({ guard: "imports" });
	assert.equal((await session.run("import socket")).status, "rejected");
	const fork = await session.fork();
	assert.equal((await fork.run("import socket")).status, "rejected");
	await fork.close();
	await session.close();
});

test("network is the policy's, or the caller's", async () => {
	const served = new brig.Client(doors.unix);
	await assert.rejects(served.execute("1", { network: ["example.org"] }), {
		code: "policy_forbids",
	});
	assert.ok((await served.execute("1", { network: [] })).ok);
	const spawned = new brig.Client(doors.spawn);
	await assert.rejects(spawned.execute("1", { network: [] }), brig.NeedsService);
	const server = createServer((socket) => socket.end("hello"));
	await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port } = server.address();
	const result = await spawned.execute(
		"import socket\n" +
			`s = socket.create_connection(('127.0.0.1', ${port}))\nprint(s.recv(9).decode())`,
		{ network: [`local:127.0.0.1:${port}`], limits: { netBytes: 1 << 20 } },
	);
	server.close();
	assert.equal(result.stdout, "hello\n", result.text);
	assert.deepEqual(
		result.network.map((one) => [one.host, one.port, one.verdict, one.bytesDown]),
		[["127.0.0.1", port, "allowed", 5]],
	);
});

for (const door of ["unix", "spawn"]) {
	const client = new brig.Client(doors[door]);

	test(`${door}: SecureSandbox`, async () => {
		const sandbox = new brig.SecureSandbox(client);
		let done = await sandbox.execute("print('hi')");
		assert.deepEqual([done.status, done.output, done.error], ["success", "hi\n", null]);
		assert.ok(done.result.ok);
		done = await sandbox.execute("print('hi'); 1 / 0");
		assert.deepEqual([done.status, done.output], ["error", "hi\n"]);
		assert.match(done.error, /ZeroDivisionError: division by zero$/);
		done = await sandbox.execute("import time; time.sleep(60)", 0.5);
		assert.equal(done.status, "timeout");
		assert.match(done.error, /did not end in time/);
		const wrong = new brig.SecureSandbox(client, { policy: "none-such" });
		done = await wrong.execute("1");
		assert.deepEqual([done.status, done.result], ["error", null]);
		assert.match(done.error, /none-such/);
		await assert.rejects(
			new brig.SecureSandbox(client, { tiemout: 1 }).execute("1"),
			/tiemout/,
		);
	});

	test(`${door}: execute_code`, async () => {
		const cases = [
			["print(input())", "in", "success", 0, "in\n"],
			["import sys; sys.exit(4)", null, "execution_error", 4, ""],
			["import os; os.kill(os.getpid(), 15)", null, "execution_error", 143, ""],
			["import time; time.sleep(60)", null, "timeout", -1, ""],
		];
		for (const [code, stdin, status, exitCode, stdout] of cases) {
			// It waits at least one second.
			const timeout = code.includes("sleep") ? 0.01 : 20;
			const done = await execute_code("python", code, stdin, timeout, null, {
				client,
			});
			assert.deepEqual(Object.keys(done).sort(), KEYS);
			assert.deepEqual(
				[done.status, done.exit_code, done.stdout],
				[status, exitCode, stdout],
			);
			assert.equal(done.error_message === null, status === "success");
			assert.ok(done.execution_time > (status === "timeout" ? 0.9 : 0));
		}
		const unknown = await execute_code("cobol", "x", null, 30, null, { client });
		assert.deepEqual([unknown.status, unknown.exit_code], ["setup_error", -1]);
		assert.match(unknown.error_message, /cobol/);
		const wrong = await execute_code("c", "int main(", null, 30, null, { client });
		assert.equal(wrong.status, "execution_error");
	});
}

test("execute_code in a session", async () => {
	const client = new brig.Client(doors.unix);
	const run = (code, name) => execute_code("python", code, null, 30, name, { client });
	// At the same time: the name is one session.
	const [first, second] = await Promise.all([run("x = 1", "mine"), run("y = 1", "other")]);
	assert.deepEqual([first.status, second.status], ["success", "success"]);
	assert.equal((await run("print(x)", "mine")).stdout, "1\n");
	const other = await run("print(x)", "other");
	assert.equal(other.status, "execution_error");
	assert.match(other.stderr, /NameError/);
	await run("import os; os._exit(0)", "mine");
	// Its state is lost, which is reported once; then there is a new one.
	assert.equal((await run("1", "mine")).status, "setup_error");
	assert.equal((await run("print('x' in globals())", "mine")).stdout, "False\n");
	await close_session("mine");
	await close_session("other");
	await close_session("nobody");
	const spawned = { client: new brig.Client(doors.spawn) };
	const refused = await execute_code("python", "1", null, 30, "mine", spawned);
	assert.equal(refused.status, "setup_error");
});

test("SecureSandbox by its class, and the older name", async () => {
	process.env.BRIG_URL = doors.unix.url;
	const { result, ...done } = await brig.SecureSandbox.execute("print(4.0)", 2.0);
	assert.deepEqual(done, { status: "success", output: "4.0\n", error: null });
	assert.equal(result.limits.grace_ms, 500);
	assert.equal(await brig.legacy.execute_python_sandbox("print(42)"), "42\n");
	assert.match(await brig.legacy.execute_python_sandbox("1 / 0"), /^Error: /);
	delete process.env.BRIG_URL;
});

for (const door of ["unix", "spawn"]) {
	const client = new brig.Client(doors[door]);

	test(`${door}: the older dialect clamps, checks and counts`, async () => {
		const late = await new brig.SecureSandbox(client).execute("print(1)", 1e6);
		assert.equal(late.result.limits.wall_ms, 300000);
		let done = await execute_code("cobol", "x", null, null, null, { client });
		assert.equal(done.error_code, "UNSUPPORTED_LANGUAGE");
		assert.equal(done.error_message.split("javascript").length, 2);
		assert.match(done.error_message, /python/);
		for (const name of ["", "a b", "x".repeat(65)]) {
			done = await execute_code("python", "1", null, null, name, { client });
			assert.equal(done.error_code, "SANDBOX_SETUP_FAILED");
		}
		const limits = new brig.legacy.ExecutionLimits({ max_output_chars: 10 });
		const code = "print('x' * 100)";
		done = await execute_code("python", code, null, null, null, { client, limits });
		assert.equal(done.stdout, `${"x".repeat(10)}\n[output truncated]`);
		assert.deepEqual(done.limits_applied, {
			timeout_seconds: 30,
			memory_mb: 256,
			cpu_cores: 0.5,
			max_output_chars: 10,
		});
		assert.ok(done.resource_usage.memory_mb >= 0);
		assert.throws(() => new brig.legacy.ExecutionLimits({ cpu_cores: 0 }), RangeError);
	});
}
