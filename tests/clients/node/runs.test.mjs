// SPDX-License-Identifier: Apache-2.0
// Every door of the service: $DOORS has the arguments of a client for each.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import * as brig from "../../../clients/javascript/index.mjs";

const doors = JSON.parse(process.env.DOORS);
const served = Object.keys(doors).filter((name) => name !== "spawn");
const place = mkdtempSync(join(tmpdir(), "brig-node-"));
const COUNT = "import time\nfor i in range(5): print(i, flush=True); time.sleep(0.05)\n";

after(() => rmSync(place, { recursive: true }));

const all = async (items) => {
	const found = [];
	for await (const item of items) {
		found.push(item);
	}
	return found;
};

for (const [door, options] of Object.entries(doors)) {
	const client = new brig.Client(options);

	test(`${door}: events`, async () => {
		const result = await client.execute(
			"import ctypes\n" +
				"for _ in range(3): ctypes.CDLL(None).syscall(101, 0, 0, 0, 0)",
		);
		const [event, ...more] = result.events;
		assert.deepEqual(more, []);
		assert.equal(event.kind, "call.denied");
		assert.ok(event.subject.includes("ptrace") && event.reason);
		assert.equal(event.count, 3);
		assert.equal(result.eventCounts["call.denied"], 3);
		assert.ok(event.firstMs > 0 && event.firstMs <= result.durationMs);
		assert.equal(result.eventsDropped, 0);
		assert.deepEqual((await client.execute("1")).events, []);
	});

	test(`${door}: execute`, async () => {
		const result = await client.execute(
			"import os, sys\n" +
				"print(sys.argv[1:], sys.stdin.read(), os.environ['C'], open('raw', 'rb').read())\n" +
				"open('out/a', 'w').write('A'); open('b.txt', 'w').write('B')\n'done'",
			{
				args: ["one two"],
				stdin: "given",
				env: { C: "blue" },
				files: { raw: Buffer.from([0, 255]) },
				out: ["*.txt"],
				timeoutMs: 20000,
				limits: { memoryBytes: 64 << 20 },
				changes: true,
			},
		);
		assert.ok(result instanceof brig.ExecutionResult && result.ok, result.text);
		assert.equal(result.stdout, "['one two'] given blue b'\\x00\\xff'\n");
		assert.deepEqual(
			result.files.map((file) => [file.path, String(file.content)]).sort(),
			[
				["b.txt", "B"],
				["out/a", "A"],
			],
		);
		assert.equal(result.value, "done");
		assert.equal(result.limits.memory_bytes, 64 << 20);
		assert.equal(result.limits.wall_ms, 20000);
		assert.ok(
			result.changes.some(
				(change) => change.path === "b.txt" && change.kind === "created",
			),
		);
		assert.equal(String(result.file("b.txt").content), "B");
		assert.equal(result.file("none"), null);
	});

	test(`${door}: failures are results, what cannot run is an exception`, async () => {
		const failed = await client.execute("exit 3", { language: "bash" });
		assert.deepEqual([failed.status, failed.exitCode, failed.ok], ["failed", 3, false]);
		assert.match(failed.text, /^\[failed, exit 3/);
		const refused = await client.execute("import socket; socket.socket(17, 3)");
		assert.equal(refused.verdict.denial.call, "socket");
		const bytes = await client.execute(
			"import sys; sys.stdout.buffer.write(b'\\xff\\x00')",
		);
		assert.deepEqual([...bytes.stdoutBytes], [255, 0]);
		await assert.rejects(
			client.execute("x", { language: "cobol" }),
			(error) =>
				error instanceof brig.Problem &&
				error.code === "unsupported_language" &&
				error.remedy.includes("python"),
		);
		await assert.rejects(client.execute("x", { tiemout: 1 }), /tiemout/);
	});

	test(`${door}: a file of 20 MB`, async () => {
		const data = Buffer.alloc(20_000_000, Buffer.from([0, 1, 2, 253, 254, 255, 10]));
		const result = await client.execute(
			"import hashlib; print(hashlib.sha256(open('f', 'rb').read()).hexdigest())",
			{ files: { f: data } },
		);
		assert.equal(result.stdout, `${createHash("sha256").update(data).digest("hex")}\n`);
	});

	test(`${door}: files, batch, what there is`, async () => {
		writeFileSync(join(place, "x.sh"), "echo sh");
		assert.equal((await client.executeFile(join(place, "x.sh"))).stdout, "sh\n");
		await assert.rejects(client.executeFile(join(place, "none.py")), {
			code: "ENOENT",
		});
		const items = await all(
			client.batch(
				[{ code: "print(int(input()) * 2)" }],
				[{ stdin: "3" }, { stdin: "4" }],
			),
		);
		assert.deepEqual(items.map((item) => [item.input, item.result.stdout]).sort(), [
			[0, "6\n"],
			[1, "8\n"],
		]);
		assert.ok((await client.runtimes()).some((runtime) => runtime.name === "python"));
		assert.ok((await client.policies()).some((policy) => policy.name === "strict"));
		assert.equal(await client.health(), "ok");
	});

	test(`${door}: an AbortSignal ends a run`, async () => {
		const start = Date.now();
		const code = "import time; time.sleep(50)";
		await assert.rejects(client.execute(code, { signal: AbortSignal.timeout(700) }), {
			name: "TimeoutError",
		});
		await assert.rejects(client.execute(code, { signal: AbortSignal.abort() }), {
			name: "AbortError",
		});
		assert.ok(Date.now() - start < 20000);
	});
}

for (const door of served) {
	const client = new brig.Client(doors[door]);

	test(`${door}: stream, submit, cancel, keys`, async () => {
		const stream = await client.stream(COUNT);
		const events = await all(stream);
		assert.equal(events.map((event) => event.text ?? "").join(""), "0\n1\n2\n3\n4\n");
		assert.equal(events.at(-1).type, "result");
		assert.equal(stream.result.id, stream.id);
		assert.equal((await (await client.events(stream.id, "4-0")).wait()).id, stream.id);
		assert.deepEqual(await all(await client.events(stream.id, "end")), []);
		const execution = await client.submit("print(1)");
		assert.equal((await execution.wait({ timeoutMs: 30000 })).stdout, "1\n");
		assert.equal((await execution.poll()).status, "ok");
		assert.equal((await client.executions({ limit: 1 })).items[0].id, execution.id);
		assert.ok((await (await execution.events()).wait()).ok);
		const running = await client.submit("while True: pass");
		await assert.rejects(running.wait({ timeoutMs: 100 }), brig.DeadlineExceeded);
		assert.equal((await running.cancel()).status, "cancelled");
		const key = brig.newKey();
		const first = await client.execute("print(1)", { idempotencyKey: key });
		assert.equal(
			(await client.execute("print(1)", { idempotencyKey: key })).id,
			first.id,
		);
		await assert.rejects(client.execute("2", { idempotencyKey: key }), {
			code: "idempotency_mismatch",
		});
		assert.ok((await client.check({ code: "1" })).allowed);
		assert.match(await client.metrics(), /brig_/);
	});

	test(`${door}: session`, async () => {
		const session = await client.session({
			language: "python",
			timeoutMs: 20000,
			idleTimeoutMs: 60000,
		});
		assert.ok((await session.run("n = 1")).ok);
		await session.put("d/sp ace%.bin", Buffer.from([0, 255]));
		assert.deepEqual(await session.files(), [{ path: "d/sp ace%.bin", size: 2 }]);
		assert.deepEqual([...(await session.get("d/sp ace%.bin"))], [0, 255]);
		await session.delete("d/sp ace%.bin");
		const fork = await session.fork();
		assert.equal((await fork.run("n")).value, 1);
		await fork.close();
		const stream = await session.stream("print('x', flush=True)\nwhile True: pass");
		for await (const event of stream) {
			if (event.type === "output" && event.text.includes("x")) {
				await session.interrupt();
			}
		}
		assert.equal(stream.result.status, "cancelled");
		assert.equal((await session.state()).state, "idle");
		assert.equal((await (await client.attach(session.id)).run("n")).value, 1);
		assert.ok((await client.sessions()).items.some((item) => item.id === session.id));
		await session.close();
		assert.ok(
			(await client.sessions({ gone: true })).items.some(
				(item) => item.id === session.id,
			),
		);
	});
}

test("require gives the same as import", () => {
	const required = createRequire(import.meta.url)("../../../clients/javascript/index.js");
	const types = readFileSync(
		new URL("../../../clients/javascript/index.d.ts", import.meta.url),
		"utf-8",
	);
	for (const [name, value] of Object.entries(required)) {
		assert.equal(brig[name], value, name);
		assert.match(types, new RegExp(`export declare (class|function|namespace) ${name}\\b`), name);
	}
	assert.equal(Object.keys(required).length, Object.keys(brig).length - 1);
});

test("types have every method", () => {
	const types = readFileSync(
		new URL("../../../clients/javascript/index.d.ts", import.meta.url),
		"utf-8",
	);
	for (const kind of [brig.Client, brig.Session, brig.Execution, brig.Stream, brig.Server, brig.SecureSandbox]) {
		const body = new RegExp(`class ${kind.name} .*?\\n}`, "s").exec(types)[0];
		for (const name of Object.getOwnPropertyNames(kind.prototype)) {
			assert.ok(
				name.startsWith("_") || new RegExp(`\\b${name}\\(`).test(body),
				`${kind.name}.${name}`,
			);
		}
	}
});

test("places", async () => {
	await assert.rejects(new brig.Client("unix:/no/such").health(), brig.CannotConnect);
	assert.throws(() => new brig.Client("spawn:/no/such/brig"), brig.CannotConnect);
	assert.throws(
		() => new brig.Client({ url: "http://198.51.100.1", token: "t" }),
		/in clear/,
	);
	assert.throws(() => new brig.Client("https://u:brig_x@localhost"), /address/);
	for (const url of ["ftp://x", "http://", "unix:", "https://h/path"]) {
		assert.throws(() => new brig.Client(url), brig.BrigError);
	}
	await assert.rejects(
		new brig.Client({ url: doors.tls.url, token: "x" }).health(),
		brig.CannotConnect,
	);
	await assert.rejects(new brig.Client({ url: doors.tcp.url, token: "brig_x" }).runtimes(), {
		code: "unauthorized",
	});
	await assert.rejects(new brig.Client(doors.spawn).session(), brig.NeedsService);
	assert.equal((await brig.executeCode("print(7)")).stdout, "7\n");
	assert.equal((await brig.executeFile(join(place, "x.sh"))).stdout, "sh\n");
	assert.equal(brig.printable("\x1b[31m\u202e\n"), "\\x1b[31m\\x202e\n");
});

for (const [door, options] of Object.entries(doors)) {
	test(`${door}: grace and clamp`, async () => {
		const told =
			"import signal, sys, time\n" +
			"signal.signal(signal.SIGTERM, lambda *_: (print('told', flush=True), sys.exit(0)))\n" +
			"print('on', flush=True)\nwhile True: time.sleep(0.01)";
		const client = new brig.Client(options);
		let result = { stdout: "" };
		for (let i = 0; i < 5 && !result.stdout; i++) {
			result = await client.execute(told, {
				timeoutMs: 600,
				limits: { graceMs: 9000 },
			});
		}
		assert.equal(result.stdout, "on\ntold\n");
		assert.equal(result.status, "timeout");
		result = await client.execute("1", { timeoutMs: 1e6, clamp: true });
		assert.equal(result.limits.wall_ms, 300000);
	});
}

for (const door of served) {
	test(`${door}: consent and directories are the operator's to allow`, async () => {
		const client = new brig.Client(doors[door]);
		await assert.rejects(client.execute("1", { consent: true }), {
			code: "consent_not_allowed",
		});
		await assert.rejects(client.execute("1", { mounts: ["nothing"] }), {
			code: "policy_forbids",
		});
	});
}

for (const timeoutMs of [0, -1, 0.1, NaN, Infinity]) {
	test(`${timeoutMs} ms is no time, whoever is asked`, async () => {
		const told = [];
		for (const door of ["unix", "spawn"]) {
			const client = new brig.Client(doors[door]);
			await assert.rejects(client.execute("print(1)", { timeoutMs }), (error) => {
				assert.ok(error instanceof brig.Problem);
				assert.equal(error.code, "invalid_request");
				assert.match(error.detail, /1ms to 5m|not a valid time/);
				told.push([error.detail, error.remedy]);
				return true;
			});
		}
		assert.deepEqual(told[0], told[1]);
	});
}
