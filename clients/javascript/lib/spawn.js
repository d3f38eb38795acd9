// SPDX-License-Identifier: Apache-2.0
// Without a service: one process of `brig run --json` for each run.
"use strict";

const { spawn } = require("node:child_process");
const fs = require("node:fs/promises");
const os = require("node:os");
const path = require("node:path");
const {
	BadAnswer,
	CannotConnect,
	DeadlineExceeded,
	NeedsService,
	Problem,
} = require("./errors.js");
const { TOO_LARGE } = require("./events.js");
const { inputFiles, milliseconds, mountFields, snake } = require("./request.js");
const { ExecutionResult } = require("./result.js");
const strict = require("./strict.js");

const asTime = (ms) => `${ms}ms`;
const asNumber = (value) => `${value}`;
const asCores = (millicores) => (millicores / 1000).toFixed(3);

// Each limit on the command line, and how its value is written.
const LIMITS = {
	// generated: javascript_limits
	wall_ms: ["--timeout", asTime],
	cpu_ms: ["--cpu-time", asTime],
	cpu_millicores: ["--cpu", asCores],
	memory_bytes: ["--memory", asNumber],
	processes: ["--processes", asNumber],
	disk_bytes: ["--disk", asNumber],
	disk_inodes: ["--inodes", asNumber],
	open_files: ["--open-files", asNumber],
	file_bytes: ["--file-size", asNumber],
	stdout_bytes: ["--stdout", asNumber],
	stderr_bytes: ["--stderr", asNumber],
	net_bytes: ["--net-bytes", asNumber],
	grace_ms: ["--grace", asTime],
	instructions: ["--instructions", asNumber],
	// generated: end
};
const GRACE_MS = 15_000;
// The error codes of the command line, and those of the service.
const CODES = {
	input: "invalid_request",
	policy: "policy_forbids",
	runtime: "unsupported_language",
	host: "host_unable",
	consent: "consent_required",
	system: "internal",
};
// Variables that brig itself uses: passed by value, not by its environment.
const OWN = /^(PATH|HOME|LANG|TZ|TMPDIR|(LD|LC|XDG|BRIG|MALLOC|GLIBC|ASAN|UBSAN)_.*)$/;

function needsService(what) {
	return new NeedsService(
		`${what} needs a service, and there is none`,
		"start one with brig serve",
	);
}

function limitWords(limits) {
	return Object.entries(limits).flatMap(([given, value]) => {
		const name = snake(given);
		if (!Object.hasOwn(LIMITS, name)) {
			throw needsService(`the limit ${name}`);
		}
		const [option, written] = LIMITS[name];
		return [option, written(Math.max(0, value))];
	});
}

// Every user of the host can read a command line, but not an environment.
function envWords(variables, env) {
	return Object.entries(variables).flatMap(([name, value]) => {
		if (OWN.test(name)) {
			return ["--env", `${name}=${value}`];
		}
		env[name] = value;
		return ["--env", name];
	});
}

async function commandOf(options, place) {
	const {
		code,
		file,
		language,
		args = [],
		env = {},
		files,
		out = [],
		timeoutMs,
		limits = {},
		policy,
		provider,
		venv,
		guard,
		network,
		wantValue = true,
		changes,
		clamp,
		consent,
		mounts,
		start,
		session,
		more,
	} = options;
	if (session || more) {
		throw needsService(session ? "a session" : "this field");
	}
	const own = { ...process.env };
	const words = ["run", "--json"];
	const add = (...more) => words.push(...more);
	if (language) {
		add("--lang", language);
	}
	if (wantValue) {
		add("--value");
	}
	if (changes) {
		add("--changes");
	}
	if (clamp) {
		add("--clamp");
	}
	if (consent) {
		add("--yes");
	}
	for (const { name, as, writable } of mountFields(mounts)) {
		add(writable ? "--rw" : "--ro", as ? `${as}=${name}` : name);
	}
	if (policy) {
		add("--policy", policy);
	}
	if (provider) {
		add("--provider", provider);
	}
	if (venv) {
		add("--venv", venv);
	}
	if (guard) {
		add("--guard", guard);
	}
	if (network?.length === 0) {
		throw needsService("an empty list of hosts");
	}
	network?.forEach((host) => add("--net", host));
	if (start) {
		add("--start", start);
	}
	const wall =
		timeoutMs === undefined || timeoutMs === null
			? {}
			: { wall_ms: milliseconds("timeoutMs", timeoutMs) };
	add(...limitWords({ ...limits, ...wall }));
	out.forEach((glob) => add("--out", glob));
	for (const [index, item] of inputFiles(files).entries()) {
		if (item.path.includes("=")) {
			throw new TypeError(`${item.path}: a command line cannot name such a file`);
		}
		const copy = path.join(place, `in-${index}`);
		await fs.writeFile(copy, item.content, { mode: item.executable ? 0o700 : 0o600 });
		add("--in", `${item.path}=${copy}`);
	}
	add(...envWords(env, own));
	const source = file ?? path.join(place, "code");
	if (!file) {
		await fs.writeFile(source, code, { mode: 0o600 });
	}
	add(source, ...(args.length ? ["--", ...args] : []));
	return { words, env: own };
}

// Reads the output of brig, which is ended when it prints too much, takes too long, or is aborted.
function collect(program, words, { env = process.env, stdin = "", maxBytes, deadlineMs, signal }) {
	return new Promise((resolve, reject) => {
		signal?.throwIfAborted();
		const child = spawn(program, words, { env, stdio: ["pipe", "pipe", "ignore"] });
		const parts = [];
		let size = 0,
			failure = null,
			last = null;
		// brig ends its cell on SIGTERM.
		const end = (error) => {
			failure ??= error;
			child.kill("SIGTERM");
			// Any other program that was started in its place must be killed as well.
			last ??= setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
		};
		const onAbort = () => end(signal.reason);
		const timer = setTimeout(
			() => end(new DeadlineExceeded(`brig did not end within ${deadlineMs} ms`)),
			deadlineMs,
		);
		signal?.addEventListener("abort", onAbort);
		child.stdin.on("error", () => {}); // The program need not read it.
		child.stdin.end(stdin);
		child.stdout.on("data", (part) => {
			size += part.length;
			size > maxBytes ? end(new BadAnswer(...TOO_LARGE)) : parts.push(part);
		});
		child.once("error", (error) => {
			failure ??= new CannotConnect(
				`${program} cannot be started: ${error.code}`,
			);
		});
		child.once("close", (status) => {
			clearTimeout(timer);
			clearTimeout(last);
			signal?.removeEventListener("abort", onAbort);
			failure
				? reject(failure)
				: resolve({ output: Buffer.concat(parts), status });
		});
	});
}

function read({ output, status }) {
	if (output.length === 0) {
		throw new BadAnswer(`brig ended with status ${status} and no result`);
	}
	const raw = strict.object(strict.parse(output), "result");
	if (raw.error === undefined) {
		return new ExecutionResult(raw);
	}
	const error = strict.object(raw.error, "error");
	const code = strict.word(error.code, "error.code");
	const message = strict.text(error.message, "error.message");
	throw new Problem({
		code: Object.hasOwn(CODES, code) ? CODES[code] : code,
		title: message,
		detail: message,
		remedy: strict.text.maybe(error.remedy, "error.remedy") || null,
	});
}

async function run(program, options, config) {
	const place = await fs.mkdtemp(path.join(os.tmpdir(), "brig-client-"));
	try {
		const { words, env } = await commandOf(options, place);
		const { stdin, signal } = options;
		return read(
			await collect(program, words, {
				...config,
				env,
				stdin: stdin ?? "",
				signal,
			}),
		);
	} finally {
		await fs.rm(place, { recursive: true, force: true });
	}
}

async function listing(program, command, name, config) {
	const { output } = await collect(program, [command, "--json"], config);
	const found = strict.object(strict.parse(output), command)[name];
	return strict.list(found, name).map((item) => strict.object(item, name));
}

module.exports = { run, listing, needsService };
