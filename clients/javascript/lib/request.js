// SPDX-License-Identifier: Apache-2.0
// What a run is asked with, from JavaScript's words to those of the API.
"use strict";

const OPTIONS = new Map(
	Object.entries({
		language: "language",
		args: "args",
		env: "env",
		out: "out",
		timeoutMs: "timeout_ms",
		policy: "policy",
		guard: "guard",
		network: "network",
		wantValue: "want_value",
		changes: "changes",
		start: "start",
		idleTimeoutMs: "idle_timeout_ms",
		lifetimeMs: "lifetime_ms",
		limits: "limits",
	}),
);
// Said to the client, not to brig.
const OWN = new Set(["signal", "idempotencyKey", "stdin", "files", "more", "session", "code"]);

const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function asField(name, value) {
	return typeof value === "string"
		? { [name]: value }
		: { [`${name}_base64`]: Buffer.from(value).toString("base64") };
}

function inputFiles(files = {}) {
	return Array.isArray(files)
		? files
		: Object.entries(files).map(([path, content]) => ({ path, content }));
}

function runFields(options) {
	const fields = {};
	for (const [name, value] of Object.entries(options)) {
		if (!OPTIONS.has(name) && !OWN.has(name)) {
			throw new TypeError(`there is no option ${name}`);
		}
		if (value !== undefined && value !== null && OPTIONS.has(name)) {
			fields[OPTIONS.get(name)] = value;
		}
	}
	if (fields.network !== undefined && !Array.isArray(fields.network)) {
		throw new TypeError("network is a list of hosts");
	}
	if (fields.limits) {
		fields.limits = Object.fromEntries(
			Object.entries(fields.limits).map(([name, value]) => [snake(name), value]),
		);
	}
	const { code, session, stdin, files, more } = options;
	if (stdin !== undefined && stdin !== null) {
		Object.assign(fields, asField("stdin", stdin));
	}
	if (files) {
		fields.files = inputFiles(files).map(({ path, content, executable }) => ({
			path,
			...asField("content", content),
			...(executable ? { executable: true } : {}),
		}));
	}
	return {
		...(code === undefined ? {} : { code }),
		...(session ? { session } : {}),
		...fields,
		...more,
	};
}

module.exports = { runFields, inputFiles, snake };
