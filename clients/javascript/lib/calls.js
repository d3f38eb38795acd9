// SPDX-License-Identifier: Apache-2.0
// Every request of the API as data: its content, and whether it may be sent again.
"use strict";

const { ExecutionResult } = require("./result.js");
const { problemOf } = require("./events.js");
const strict = require("./strict.js");

const UNDER_WAY = ["queued", "running"];
const EVENTS = "text/event-stream";

function id(value) {
	if (!/^[A-Za-z0-9_-]{1,64}$/.test(value)) {
		throw new TypeError(`${JSON.stringify(value)} is not an id`);
	}
	return value;
}

function query(path, fields) {
	const given = Object.entries(fields).filter(
		([, value]) => value !== undefined && value !== null,
	);
	return given.length
		? `${path}?${new URLSearchParams(given.map(([k, v]) => [k, String(v)]))}`
		: path;
}

const get = (path, headers = {}) => ({ method: "GET", path, headers, safe: true });
const remove = (path) => ({ method: "DELETE", path, headers: {}, safe: true });

// `safe`: sending it twice has the same effect as sending it once.
function post(path, fields, { key, accept, safe = key !== undefined } = {}) {
	const headers = {
		"Content-Type": "application/json",
		...(key === undefined ? {} : { "Idempotency-Key": key }),
		...(accept ? { Accept: accept } : {}),
	};
	return { method: "POST", path, headers, safe, body: Buffer.from(JSON.stringify(fields)) };
}

const filePath = (which, path) =>
	`/v1/sessions/${id(which)}/files/${path.split("/").map(encodeURIComponent).join("/")}`;

const calls = {
	execute: (fields, key) => post("/v1/execute", fields, { key }),
	stream: (fields, key) =>
		post("/v1/execute", { ...fields, stream: true }, { key, accept: EVENTS }),
	events: (which, after) =>
		get(`/v1/executions/${id(which)}/events`, {
			Accept: EVENTS,
			...(after ? { "Last-Event-ID": after } : {}),
		}),
	submit: (fields, key) => post("/v1/executions", fields, { key }),
	execution: (which) => get(`/v1/executions/${id(which)}`),
	executions: (page) => get(query("/v1/executions", page)),
	cancel: (which) => remove(`/v1/executions/${id(which)}`),
	batch: (fields) => post("/v1/batch", fields),
	openSession: (fields) => post("/v1/sessions", fields),
	session: (which) => get(`/v1/sessions/${id(which)}`),
	sessions: (page) => get(query("/v1/sessions", page)),
	closeSession: (which) => remove(`/v1/sessions/${id(which)}`),
	interrupt: (which) => ({
		method: "POST",
		path: `/v1/sessions/${id(which)}/interrupt`,
		headers: {},
	}),
	fork: (which) => ({ method: "POST", path: `/v1/sessions/${id(which)}/fork`, headers: {} }),
	files: (which) => get(`/v1/sessions/${id(which)}/files`),
	getFile: (which, path) => get(filePath(which, path)),
	putFile: (which, path, body) => ({
		method: "PUT",
		path: filePath(which, path),
		body,
		safe: true,
		headers: { "Content-Type": "application/octet-stream" },
	}),
	deleteFile: (which, path) => remove(filePath(which, path)),
	runtimes: () => get("/v1/runtimes"),
	policies: () => get("/v1/policies"),
	check: (fields) => post("/v1/policies/check", fields, { safe: true }),
	health: () => get("/v1/health"),
	metrics: () => get("/metrics"),
};

// --- reading ---

function executionOf(value) {
	const raw = strict.object(value, "execution");
	const maybe = (name) => strict.text.maybe(raw[name], name);
	const status = strict.word(raw.status, "status");
	return {
		id: strict.word(raw.id, "id"),
		status,
		ended: !UNDER_WAY.includes(status),
		createdAt: maybe("created_at"),
		startedAt: maybe("started_at"),
		endedAt: maybe("ended_at"),
		language: maybe("language"),
		policy: maybe("policy"),
		session: maybe("session"),
		expiresAt: maybe("expires_at"),
		result: raw.result ? new ExecutionResult(raw.result) : null,
		error: raw.error ? problemOf(raw.error) : null,
	};
}

function sessionOf(value) {
	const raw = strict.object(value, "session");
	const maybe = (name) => strict.text.maybe(raw[name], name);
	return {
		id: strict.word(raw.id, "id"),
		state: strict.word(raw.state, "state"),
		language: maybe("language"),
		policy: maybe("policy"),
		createdAt: maybe("created_at"),
		expiresAt: maybe("expires_at"),
		runs: strict.integer(raw.runs ?? 0, "runs"),
		reason: maybe("reason"),
		raw,
	};
}

function pageOf(name, read) {
	return (value) => {
		const raw = strict.object(value, "page");
		return {
			items: strict.list(raw[name], name).map(read),
			next: strict.text.maybe(raw.next, "next"),
		};
	};
}

function listOf(name, read = (item) => strict.object(item, name)) {
	return (value) => strict.list(strict.object(value, "answer")[name], name).map(read);
}

function fileOf(value) {
	const raw = strict.object(value, "file");
	return { path: strict.text(raw.path, "path"), size: strict.integer(raw.size, "size") };
}

module.exports = { calls, executionOf, sessionOf, pageOf, listOf, fileOf };
