// SPDX-License-Identifier: Apache-2.0
// The result of a run, as docs/result.md describes it, in JavaScript's spelling.
"use strict";

const { createHash } = require("node:crypto");
const { BadAnswer } = require("./errors.js");
const { saveAll } = require("./save.js");
const strict = require("./strict.js");

function readFile(value) {
	const raw = strict.object(value, "files[]");
	const file = {
		path: strict.text(raw.path, "files[].path"),
		size: strict.integer(raw.size, "files[].size"),
		sha256: strict.text(raw.sha256, "files[].sha256"),
		executable: strict.boolean(raw.executable ?? false, "files[].executable"),
		content: strict.base64(raw.content_base64, "files[].content_base64"),
	};
	const hash = createHash("sha256").update(file.content).digest("hex");
	if (file.size !== file.content.length || file.sha256 !== hash) {
		throw new BadAnswer(
			"invalid response: a file's size or hash does not match its content",
		);
	}
	return file;
}

function readChange(value) {
	const raw = strict.object(value, "changes[]");
	return {
		path: strict.text(raw.path, "changes[].path"),
		kind: strict.word(raw.kind, "changes[].kind"),
		size: strict.integer(raw.size, "changes[].size"),
		sha256: strict.text.maybe(raw.sha256, "changes[].sha256"),
	};
}

function readDenial(value) {
	if (value === null || value === undefined) {
		return null;
	}
	const raw = strict.object(value, "verdict.denial");
	return {
		call: strict.text(raw.call, "denial.call"),
		meaning: strict.text(raw.meaning, "denial.meaning"),
		reason: strict.text(raw.reason, "denial.reason"),
		count: strict.integer(raw.count, "denial.count"),
	};
}

function readRefusal(value) {
	if (value === null || value === undefined) {
		return null;
	}
	const raw = strict.object(value, "verdict.refusal");
	return {
		rule: strict.text(raw.rule, "refusal.rule"),
		reason: strict.text(raw.reason, "refusal.reason"),
		line: strict.integer.maybe(raw.line, "refusal.line"),
		column: strict.integer.maybe(raw.column, "refusal.column"),
	};
}

function readRisk(value) {
	if (value === null || value === undefined) {
		return null;
	}
	const raw = strict.object(value, "risk");
	return {
		score: strict.integer(raw.score, "risk.score"),
		reasons: strict
			.list(raw.reasons, "risk.reasons")
			.map((item) => strict.text(item, "risk.reasons")),
	};
}

function readConnection(value) {
	const raw = strict.object(value, "network[]");
	return {
		host: strict.text(raw.host, "network[].host"),
		port: strict.integer(raw.port, "network[].port"),
		address: strict.text.maybe(raw.address, "network[].address"),
		verdict: strict.word(raw.verdict, "network[].verdict"),
		bytesUp: strict.integer(raw.bytes_up, "network[].bytes_up"),
		bytesDown: strict.integer(raw.bytes_down, "network[].bytes_down"),
		ms: strict.number(raw.ms, "network[].ms"),
	};
}

function readEvent(value) {
	const raw = strict.object(value, "events[]");
	return {
		kind: strict.word(raw.kind, "events[].kind"),
		subject: strict.text(raw.subject, "events[].subject"),
		reason: strict.text(raw.reason, "events[].reason"),
		count: strict.integer(raw.count, "events[].count"),
		firstMs: strict.number(raw.first_ms, "events[].first_ms"),
	};
}

function readVerdict(value) {
	const raw = strict.object(value, "verdict");
	return {
		cause: strict.text(raw.cause, "verdict.cause"),
		limitName: strict.text.maybe(raw.limit_name, "verdict.limit_name"),
		limit: strict.number.maybe(raw.limit, "verdict.limit"),
		peak: strict.number.maybe(raw.peak, "verdict.peak"),
		denial: readDenial(raw.denial),
		refusal: readRefusal(raw.refusal),
		remedy: strict.text.maybe(raw.remedy, "verdict.remedy"),
		operatorRemedy: strict.text.maybe(raw.operator_remedy, "verdict.operator_remedy"),
	};
}

function readStream(raw, name) {
	const read = {
		"utf-8": (value) => Buffer.from(strict.text(value, name)),
		base64: (value) => strict.base64(value, name),
	};
	if (!Object.hasOwn(read, raw.encoding)) {
		throw strict.wrong("encoding", "utf-8 or base64");
	}
	return read[raw.encoding](raw[name]);
}

class ExecutionResult {
	constructor(value) {
		const raw = strict.object(value, "result");
		this.id = strict.word(raw.id, "id");
		this.status = strict.word(raw.status, "status");
		this.exitCode = strict.integer.maybe(raw.exit_code, "exit_code");
		this.signal = strict.integer.maybe(raw.signal, "signal");
		this.stdoutBytes = readStream(raw, "stdout");
		this.stderrBytes = readStream(raw, "stderr");
		this.stdout = this.stdoutBytes.toString("utf-8");
		this.stderr = this.stderrBytes.toString("utf-8");
		this.stdoutTruncated = strict.boolean(raw.stdout_truncated, "stdout_truncated");
		this.stderrTruncated = strict.boolean(raw.stderr_truncated, "stderr_truncated");
		this.encoding = raw.encoding;
		this.value = raw.value ?? null;
		this.valueRepr = strict.text.maybe(raw.value_repr, "value_repr");
		this.files = strict.list(raw.files, "files").map(readFile);
		this.filesNote = strict.text.maybe(raw.files_note, "files_note");
		const changes = strict.list.maybe(raw.changes, "changes");
		this.changes = changes && changes.map(readChange);
		this.verdict = readVerdict(raw.verdict);
		this.durationMs = strict.number(raw.duration_ms, "duration_ms");
		this.usage = strict.mapOf(strict.number, raw.usage, "usage");
		this.limits = strict.mapOf(strict.number, raw.limits, "limits");
		this.means = strict.mapOf(strict.text, raw.means ?? {}, "means");
		this.language = strict.text.maybe(raw.language, "language");
		this.runtime = strict.text.maybe(raw.runtime, "runtime");
		this.policy = strict.text(raw.policy, "policy");
		this.provider = strict.text(raw.provider, "provider");
		this.start = strict.text(raw.start, "start");
		this.layers = strict
			.list(raw.layers, "layers")
			.map((item) => strict.text(item, "layers"));
		this.buildCached = strict.boolean(raw.build_cached ?? false, "build_cached");
		this.expiresAt = strict.text.maybe(raw.expires_at, "expires_at");
		this.network = strict.list(raw.network ?? [], "network").map(readConnection);
		this.networkUntold = strict.integer(raw.network_untold ?? 0, "network_untold");
		this.risk = readRisk(raw.risk);
		// Older versions of brig have none of them.
		this.events = strict.list(raw.events ?? [], "events").map(readEvent);
		this.eventsDropped = strict.integer(raw.events_dropped ?? 0, "events_dropped");
		this.eventCounts = strict.mapOf(
			strict.integer,
			raw.event_counts ?? {},
			"event_counts",
		);
		// The whole object, as brig sent it; not shown when a result is printed.
		Object.defineProperty(this, "raw", { value: raw });
	}

	get ok() {
		return this.status === "ok";
	}

	// How it ended, what was refused and the remedy, in one line.
	get why() {
		const { denial, refusal, remedy } = this.verdict;
		const words = [this.status];
		if (this.status === "failed") {
			words[0] +=
				this.signal === null
					? `, exit ${this.exitCode}`
					: `, signal ${this.signal}`;
		}
		if (denial) {
			words.push(`refused: ${denial.meaning}`);
		}
		if (refusal) {
			words.push(refusal.reason);
		}
		if (remedy || denial) {
			// The remedy of a refusal has its reason in it.
			words.push(remedy || denial.reason);
		}
		return words.join("; ");
	}

	// For display to a person or a model: all output, and why it ended unless it succeeded.
	get text() {
		const parts = [this.stdout, this.stderr]
			.filter(Boolean)
			.map((part) => part.replace(/\n+$/, ""));
		if (!this.ok) {
			parts.push(`[${this.why}]`);
		}
		return parts.join("\n");
	}

	file(path) {
		return this.files.find((item) => item.path === path) ?? null;
	}

	// Writes all files beneath a directory, and nowhere else; returns their paths.
	saveFiles(directory, options) {
		return saveAll(directory, this.files, options);
	}
}

module.exports = { ExecutionResult };
