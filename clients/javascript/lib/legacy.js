// SPDX-License-Identifier: Apache-2.0
// execute_code() as older programs know it: arguments in another order, other names in the answer.
"use strict";

const { Client } = require("./client.js");
const { BrigError, Problem } = require("./errors.js");

const TIMEOUT_LEAST = 1;
const TIMEOUT_MOST = 300;
const SESSIONS_MAX = 32;
// What is not here is an execution_error.
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

// By name, which is this process's own: promises, so that calls at the same time share one.
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
		// It is gone already, or the service is.
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

function answer(status, error_message, more = {}) {
	return {
		stdout: "",
		stderr: "",
		exit_code: -1,
		execution_time: 0,
		...more,
		status,
		error_message,
	};
}

async function run(client, language, code, options, session_id) {
	if (session_id === null) {
		return client.execute(code, { ...options, language });
	}
	return (await sessionOf(client, language, session_id)).run(code, options);
}

// Never rejects for what the code does, nor because it could not be run. timeout in seconds;
// exit_code is -1 for brig's own trouble, and when the time is up.
async function execute_code(
	language,
	code,
	stdin = null,
	timeout = 30,
	session_id = null,
	{ client } = {},
) {
	const seconds = Math.min(Math.max(timeout, TIMEOUT_LEAST), TIMEOUT_MOST);
	const options = { timeoutMs: seconds * 1000, ...(stdin === null ? {} : { stdin }) };
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
			await close_session(session_id); // The next call begins a new one.
		}
		return answer("setup_error", error.message);
	}
	const status = STATUSES.get(result.status) ?? "execution_error";
	return answer(status, result.ok ? null : result.why, {
		stdout: result.stdout,
		stderr: result.stderr,
		exit_code: status === "timeout" ? -1 : exitCode(result),
		execution_time: result.durationMs / 1000,
	});
}

module.exports = { execute_code, close_session };
