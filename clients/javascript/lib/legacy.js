// SPDX-License-Identifier: Apache-2.0
// execute_code() for older programs: arguments in another order, other names in the result.
"use strict";

const { Client } = require("./client.js");
const { BrigError, Problem } = require("./errors.js");
const { SecureSandbox } = require("./sandbox.js");

const TIMEOUT_LEAST = 1;
const TIMEOUT_MOST = 300;
const SESSIONS_MAX = 32;
// All other statuses are an execution_error.
const STATUSES = new Map(
	Object.entries({
		ok: "success",
		timeout: "timeout",
		cpu_limit: "timeout",
		cancelled: "setup_error",
		lost: "setup_error",
		error: "setup_error",
	}),
);

// The kind of error.
const CODES = new Map(
	Object.entries({
		timeout: "EXECUTION_TIMEOUT",
		execution_error: "RUNTIME_ERROR",
		setup_error: "SANDBOX_SETUP_FAILED",
	}),
);
const CUT = "\n[output truncated]";
const MIB = 1 << 20;

// The limits of a run; the operator's ceilings apply in any case.
class ExecutionLimits {
	static #ranges = {
		timeout_seconds: [30, TIMEOUT_LEAST, TIMEOUT_MOST],
		memory_mb: [256, 1, MIB],
		cpu_cores: [0.5, 0.01, 1024],
		max_output_chars: [100000, 1, 64 * MIB],
	};

	constructor(given = {}) {
		for (const name of Object.keys(given)) {
			if (!Object.hasOwn(ExecutionLimits.#ranges, name)) {
				throw new TypeError(`unknown limit ${name}`);
			}
		}
		for (const [name, range] of Object.entries(ExecutionLimits.#ranges)) {
			const [usual, least, most] = range;
			const value = given[name] ?? usual;
			if (typeof value !== "number") {
				throw new TypeError(`${name} is a number`);
			}
			if (!(value >= least && value <= most)) {
				throw new RangeError(`${name} must be from ${least} to ${most}`);
			}
			this[name] = value;
		}
		Object.freeze(this);
	}
}

// By name, local to this process: promises, so that concurrent calls share one.
const sessions = new Map();

// The first call with a name opens the session.
async function sessionOf(client, language, name) {
	const { kind, path, authority } = await client._place();
	const which = JSON.stringify([kind, path, authority, language, name]);
	if (!sessions.has(which)) {
		if (sessions.size >= SESSIONS_MAX) {
			throw new BrigError(
				`there are ${SESSIONS_MAX} sessions open`,
				"call close_session()",
			);
		}
		const opening = client.session({ language });
		sessions.set(which, { name, opening });
		opening.catch(() => sessions.delete(which));
	}
	return sessions.get(which).opening;
}

// Ends the sessions of that name; there need be none.
async function close_session(session_id) {
	const ended = [...sessions].filter(([, { name }]) => name === session_id);
	for (const [which] of ended) {
		sessions.delete(which);
	}
	for (const [, { opening }] of ended) {
		// The session has ended already, or the service has.
		await opening.then((session) => session.close()).catch(() => {});
	}
}

function exitCode(result) {
	if (["ok", "failed", "compile_failed"].includes(result.status)) {
		if (result.exitCode !== null) {
			return result.exitCode;
		}
		if (result.signal !== null) {
			return 128 + result.signal;
		}
	}
	return -1;
}

function answer(status, error_message, error_code = CODES.get(status) ?? null) {
	return {
		stdout: "",
		stderr: "",
		exit_code: -1,
		execution_time: 0,
		status,
		error_message,
		error_code,
		resource_usage: null,
		limits_applied: null,
	};
}

// Returns the output, with a mark where it was cut.
function cut(text, truncated, most) {
	const kept = most !== undefined && text.length > most ? text.slice(0, most) : text;
	return truncated || kept.length < text.length ? kept + CUT : text;
}

function answerOf(result, most) {
	const status = STATUSES.get(result.status) ?? "execution_error";
	const { limits, usage } = result;
	return {
		...answer(status, result.ok ? null : result.why),
		stdout: cut(result.stdout, result.stdoutTruncated, most),
		stderr: cut(result.stderr, result.stderrTruncated, most),
		exit_code: status === "timeout" ? -1 : exitCode(result),
		execution_time: result.durationMs / 1000,
		resource_usage: {
			execution_time: result.durationMs / 1000,
			cpu_time: usage.cpu_ms / 1000,
			memory_mb: usage.memory_peak_bytes / MIB,
		},
		limits_applied: {
			timeout_seconds: limits.wall_ms / 1000,
			memory_mb: limits.memory_bytes / MIB,
			cpu_cores: limits.cpu_millicores / 1000,
			max_output_chars: most ?? limits.stdout_bytes,
		},
	};
}

// The message for an unsupported language, with the supported ones.
async function failed(error, client) {
	if (error.code !== "unsupported_language") {
		return answer("setup_error", error.message);
	}
	const names = await (client ?? new Client())
		.runtimes()
		.then((found) => found.filter((item) => item.installed ?? true))
		.then((found) => found.map((item) => item.name))
		.catch(() => []);
	const said = names.length
		? `${error.detail}; supported are: ${names.join(", ")}`
		: error.message;
	return answer("setup_error", said, "UNSUPPORTED_LANGUAGE");
}

async function run(client, language, code, options, session_id) {
	if (session_id === null) {
		return client.execute(code, { ...options, language });
	}
	return (await sessionOf(client, language, session_id)).run(code, options);
}

// Never rejects because of the code, nor because it could not be run. timeout in seconds, clamped
// to 1..300 and to the operator's ceiling; exit_code is -1 for an error of brig, and for a timeout.
async function execute_code(
	language,
	code,
	stdin = null,
	timeout = null,
	session_id = null,
	{ client, limits } = {},
) {
	const wanted = timeout ?? limits?.timeout_seconds ?? 30;
	const seconds = Math.min(Math.max(wanted, TIMEOUT_LEAST), TIMEOUT_MOST);
	const options = {
		clamp: true,
		timeoutMs: seconds * 1000,
		...(stdin === null ? {} : { stdin }),
	};
	if (session_id !== null && !/^[A-Za-z0-9_-]{1,64}$/.test(session_id)) {
		const why = "session_id: must be 1 to 64 letters, digits, '_' and '-'";
		return answer("setup_error", why);
	}
	if (limits && session_id === null) {
		options.limits = {
			memoryBytes: Math.floor(limits.memory_mb * MIB),
			cpuMillicores: Math.floor(limits.cpu_cores * 1000),
		};
	}
	let result;
	try {
		result = await run(client ?? new Client(), language, code, options, session_id);
	} catch (error) {
		if (!(error instanceof BrigError)) {
			throw error;
		}
		if (
			session_id !== null &&
			error instanceof Problem &&
			["session_gone", "not_found"].includes(error.code)
		) {
			await close_session(session_id); // The next call opens a new one.
		}
		return failed(error, client);
	}
	return answerOf(result, limits?.max_output_chars);
}

// The name of a tool that ran code in its own process. This one runs it in the sandbox.
async function execute_python_sandbox(code) {
	const done = await SecureSandbox.execute(code);
	return done.status === "success" ? done.output : `Error: ${done.error}`;
}

module.exports = { execute_code, close_session, execute_python_sandbox, ExecutionLimits };
