// SPDX-License-Identifier: Apache-2.0
// The fields of a request, from JavaScript's names to those of the API.
"use strict";

const { Problem } = require("./errors.js");

const OPTIONS = new Map(
	Object.entries({
		language: "language",
		args: "args",
		env: "env",
		out: "out",
		timeoutMs: "timeout_ms",
		policy: "policy",
		provider: "provider",
		venv: "venv",
		guard: "guard",
		network: "network",
		wantValue: "want_value",
		changes: "changes",
		start: "start",
		idleTimeoutMs: "idle_timeout_ms",
		lifetimeMs: "lifetime_ms",
		limits: "limits",
		clamp: "clamp",
		consent: "consent",
	}),
);
const TIMES = new Set(["timeoutMs", "idleTimeoutMs", "lifetimeMs"]);
// Options of the client, not of brig.
const OWN = new Set(["signal", "idempotencyKey", "stdin", "files", "more", "session", "code", "mounts"]);

const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function asField(name, value) {
	return typeof value === "string"
		? { [name]: value }
		: { [`${name}_base64`]: Buffer.from(value).toString("base64") };
}

// brig checks the allowed range; a value that is not a time is refused here.
function milliseconds(name, value) {
	if (typeof value !== "number") {
		throw new TypeError(`${name} is a number of milliseconds`);
	}
	if (!Number.isFinite(value)) {
		const why = `${name}: ${value} is not a valid time`;
		const remedy = "give a number of milliseconds";
		throw new Problem({ code: "invalid_request", title: why, detail: why, remedy });
	}
	return Math.max(0, value);
}

function inputFiles(files = {}) {
	return Array.isArray(files)
		? files
		: Object.entries(files).map(([path, content]) => ({ path, content }));
}

function mountFields(mounts = []) {
	if (!Array.isArray(mounts)) {
		throw new TypeError("mounts is a list of names");
	}
	return mounts.map((item) => (typeof item === "string" ? { name: item } : { ...item }));
}

function runFields(options) {
	const fields = {};
	for (const [name, value] of Object.entries(options)) {
		if (!OPTIONS.has(name) && !OWN.has(name)) {
			throw new TypeError(`unknown option ${name}`);
		}
		if (value !== undefined && value !== null && OPTIONS.has(name)) {
			fields[OPTIONS.get(name)] = TIMES.has(name)
				? milliseconds(name, value)
				: value;
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
	if (options.mounts) {
		fields.mounts = mountFields(options.mounts);
	}
	return {
		...(code === undefined ? {} : { code }),
		...(session ? { session } : {}),
		...fields,
		...more,
	};
}

module.exports = { runFields, inputFiles, milliseconds, mountFields, snake };
