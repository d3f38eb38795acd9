// SPDX-License-Identifier: Apache-2.0
// Servers that lie, and connections that are cut.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	readdirSync,
	rmSync,
	symlinkSync,
	statSync,
} from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import * as brig from "../../../clients/javascript/index.mjs";

const doors = JSON.parse(process.env.DOORS);
const place = mkdtempSync(join(tmpdir(), "brig-node-"));
const servers = [];
const COUNT = "import time\nfor i in range(5): print(i, flush=True); time.sleep(0.05)\n";

after(() => {
	servers.forEach((server) => server.close());
	rmSync(place, { recursive: true });
});

// A server that does handle(socket, n) with the n-th connection.
async function listen(handle) {
	const server = net.createServer((socket) => {
		server.count = (server.count ?? 0) + 1;
		socket.on("error", () => {});
		handle(socket, server.count);
	});
	servers.push(server);
	const path = join(place, `s${servers.length}`);
	await new Promise((resolve) => server.listen(path, resolve));
	server.url = `unix:${path}`;
	return server;
}

const answering = (...raw) =>
	listen((socket, number) => {
		socket.once("data", () => socket.end(raw[Math.min(number, raw.length) - 1]));
	});

// Forwards to the service, but cuts the n-th response after sizes[n] bytes.
const cutting = (...sizes) =>
	listen((socket, number) => {
		const behind = net.connect(doors.unix.url.slice(5));
		let left = sizes[number - 1] ?? Infinity;
		behind.on("error", () => socket.destroy());
		socket.on("data", (data) => behind.write(data));
		socket.on("close", () => behind.destroy());
		behind.on("data", (data) => {
			socket.write(data.subarray(0, left));
			left -= data.length;
			if (left <= 0) {
				socket.end();
				behind.destroy();
			}
		});
		behind.on("end", () => socket.end());
	});

function http(status, body, kind = "application/json", extra = "") {
	const data = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
	return Buffer.concat([
		Buffer.from(
			`HTTP/1.1 ${status} X\r\nContent-Type: ${kind}\r\n${extra}` +
				`Content-Length: ${data.length}\r\n\r\n`,
		),
		data,
	]);
}

const result = (changes) => ({
	id: "01ARZ3NDEKTSV4RRFFQ69G5FAV",
	status: "ok",
	exit_code: 0,
	signal: null,
	stdout: "x",
	stderr: "",
	stdout_truncated: false,
	stderr_truncated: false,
	encoding: "utf-8",
	value: null,
	files: [],
	files_note: null,
	verdict: { cause: "exit" },
	duration_ms: 1.5,
	usage: {},
	limits: {},
	means: {},
	language: "python",
	runtime: null,
	policy: "p",
	provider: "native",
	start: "cold",
	layers: [],
	build_cached: false,
	expires_at: null,
	...changes,
});

const file = (path, content = "evil", changes = {}) => ({
	path,
	size: content.length,
	sha256: createHash("sha256").update(content).digest("hex"),
	executable: true,
	content_base64: Buffer.from(content).toString("base64"),
	...changes,
});

const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const malformed = {
	nothing: "",
	"no http": "SSH-2.0\r\n\r\n",
	"half a head": "HTTP/1.1 200 OK\r\nX",
	"endless head": "HTTP/1.1 200 OK\r\n" + "X-A: b\r\n".repeat(20000),
	switching: "HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
	redirect: "HTTP/1.1 302 F\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n",
	"two lengths": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
	"bad chunk": chunked + "zz\r\n{}\r\n",
	"cut in a chunk": chunked + "ff\r\n{",
	"cut body": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
	"no json": http(200, "<html>"),
	"not utf-8": http(200, '"\\ud8', "application/json"),
	deep: http(200, "[".repeat(200000) + "]".repeat(200000)),
	"no problem": http(500, "<h1>", "text/html"),
	"odd problem": http(400, { code: 1 }, "application/problem+json"),
	list: http(200, []),
	empty: http(200, {}),
	id: http(200, result({ id: "../../x" })),
	stdout: http(200, result({ stdout: ["x"] })),
	"exit code": http(200, result({ exit_code: "0" })),
	encoding: http(200, result({ encoding: "constructor" })),
	base64: http(200, result({ encoding: "base64", stdout: "****" })),
	"file hash": http(200, result({ files: [file("a", "x", { sha256: "0" })] })),
	"file size": http(200, result({ files: [file("a", "x", { size: 2 })] })),
	verdict: http(200, result({ verdict: null })),
	usage: http(200, result({ usage: { a: "b" } })),
	events: http(200, result({ events: {} })),
	event: http(200, result({ events: [{ kind: "call.denied" }] })),
	eventCounts: http(200, result({ event_counts: { a: "b" } })),
};

const isOurs = (error) => error instanceof brig.BadAnswer || error instanceof brig.ConnectionLost;

for (const [name, raw] of Object.entries(malformed)) {
	test(`malformed: ${name}`, async () => {
		const server = await answering(raw);
		await assert.rejects(
			new brig.Client({ url: server.url, retries: 0, deadlineMs: 20000 }).execute(
				"1",
			),
			isOurs,
		);
	});
}

test("names that mean something elsewhere are names", async () => {
	const raw = JSON.stringify(result({ new_field: 1 })).replace(
		'"usage":{}',
		'"usage":{"__proto__":1}',
	);
	const server = await answering(http(200, raw));
	const seen = await new brig.Client(server.url).execute("1");
	assert.equal(seen.raw.new_field, 1);
	assert.equal({}.wall_ms, undefined);
	assert.deepEqual(Object.keys(seen.usage), ["__proto__"]);
});

test("too large", async () => {
	const server = await listen((socket) => {
		socket.once("data", () => {
			socket.write("HTTP/1.1 200 OK\r\n\r\n");
			const more = () => {
				while (!socket.destroyed && socket.write(Buffer.alloc(65536, 32)));
			};
			socket.on("drain", more);
			more();
		});
	});
	const client = new brig.Client({ url: server.url, maxBytes: 1 << 20 });
	await assert.rejects(client.execute("1"), /too large/);
	await assert.rejects((await client.stream("1")).wait(), /too large/);
	await assert.rejects(client.batch([{ code: "1" }]).next(), /too large/);
});

test("too slow", async () => {
	const server = await listen((socket) => {
		socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
		const timer = setInterval(() => socket.write(" "), 50);
		socket.on("close", () => clearInterval(timer));
	});
	await assert.rejects(
		new brig.Client({ url: server.url, deadlineMs: 500 }).execute("1"),
		brig.DeadlineExceeded,
	);
});

test("a stream is resumed where it was cut", async () => {
	const server = await cutting(330, 20);
	const parts = [];
	for await (const event of await new brig.Client(server.url).stream(COUNT)) {
		parts.push(event.text ?? "");
	}
	assert.equal(parts.join(""), "0\n1\n2\n3\n4\n");
	assert.ok(server.count >= 3);
});

test("a lost answer is asked for again only with a key", async () => {
	let server = await cutting(30);
	await assert.rejects(new brig.Client(server.url).execute("print(1)"), brig.ConnectionLost);
	assert.equal(server.count, 1);
	server = await cutting(30);
	const options = { idempotencyKey: brig.newKey() };
	assert.equal(
		(await new brig.Client(server.url).execute("print(1)", options)).stdout,
		"1\n",
	);
	assert.equal(server.count, 2);
});

test("retries are bounded", async () => {
	const problem = (status, code, after = 0) =>
		http(
			status,
			{ title: "T", status, detail: "D", code, remedy: "R" },
			"application/problem+json",
			`Retry-After: ${after}\r\n`,
		);
	const good = http(200, { status: "ok" });
	let server = await answering(problem(429, "queue_full"), problem(503, "unavailable"), good);
	assert.equal(await new brig.Client(server.url).health(), "ok");
	for (const [refusal, times] of [
		[problem(503, "ledger_unavailable"), 1],
		[problem(429, "queue_full"), 3],
		[problem(429, "rate_limited", 3600), 1],
		[problem(400, "invalid_request"), 1],
	]) {
		server = await answering(refusal);
		await assert.rejects(
			new brig.Client({ url: server.url, retries: 2 }).execute("1"),
			{ title: "T", remedy: "R" },
		);
		assert.equal(server.count, times);
	}
});

test("malformed events and batches", async () => {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
	for (const block of [
		"event: output\ndata: nothing\n\n",
		'event: output\ndata: {"stream":"x","data":"x"}\n\n',
		"id: a b\ndata: {}\n\n",
		"event: result\ndata: {}\n\n",
		"",
		'event: error\ndata: {"code":"x"}\n\n',
	]) {
		const server = await answering(head + block);
		const stream = await new brig.Client({ url: server.url, retries: 0 }).stream("1");
		await assert.rejects(stream.wait(), isOurs);
	}
	for (const line of [
		'{"done":true,"count":3}',
		'{"program":0,"input":0,"result":null,"error":null}',
		"x",
		"",
	]) {
		const server = await answering(http(200, `${line}\n`));
		await assert.rejects(
			new brig.Client(server.url).batch([{ code: "1" }]).next(),
			isOurs,
		);
	}
});

const save = (files, directory, options) =>
	new brig.ExecutionResult(result({ files })).saveFiles(directory, options);

test("files are saved beneath the directory, and nowhere else", () => {
	const here = join(place, "here");
	for (const path of [
		"../evil",
		"/etc/evil",
		"a/../../evil",
		"a//b",
		"./a",
		"",
		"a\0b",
		"..",
	]) {
		assert.throws(() => save([file("fine"), file(path)], here), brig.UnsafePath);
		assert.ok(!existsSync(here));
	}
	const [first] = save([file("a/b", "1"), file("c", "2")], here);
	assert.equal(readFileSync(first, "utf-8"), "1");
	assert.equal(statSync(first).mode & 0o111, 0);
	assert.throws(() => save([file("c", "3")], here), brig.UnsafePath);
	save([file("c", "3")], here, { overwrite: true, executable: true });
	assert.equal(readFileSync(join(here, "c"), "utf-8"), "3");
	mkdirSync(join(place, "target"));
	symlinkSync(join(place, "target"), join(here, "d"));
	symlinkSync(join(place, "target", "f"), join(here, "f"));
	assert.throws(() => save([file("d/x")], here, { overwrite: true }), brig.UnsafePath);
	assert.throws(() => save([file("f")], here), brig.UnsafePath);
	save([file("f")], here, { overwrite: true });
	assert.deepEqual(readdirSync(join(place, "target")), []);
});
