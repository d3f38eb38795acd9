// SPDX-License-Identifier: Apache-2.0
// Streamed responses: lines, server-sent events, and their meaning.
"use strict";

const { BadAnswer, Problem } = require("./errors.js");
const { ExecutionResult } = require("./result.js");
const strict = require("./strict.js");

const TOO_LARGE = ["the response is too large", "raise maxBytes of the client"];

// Splits pieces of bytes into lines of a limited length.
async function* linesOf(pieces, most) {
	let parts = [],
		size = 0;
	const add = (part) => {
		size += part.length;
		if (size > most) {
			throw new BadAnswer(...TOO_LARGE);
		}
		parts.push(part);
	};
	for await (const piece of pieces) {
		let from = 0;
		for (let to = piece.indexOf(10); to >= 0; to = piece.indexOf(10, from)) {
			add(piece.subarray(from, to));
			yield Buffer.concat(parts);
			parts = [];
			size = 0;
			from = to + 1;
		}
		if (from < piece.length) {
			add(piece.subarray(from));
		}
	}
}

// Yields {name, data, id} of each event.
async function* rawEvents(pieces, most) {
	let event = { name: "message", id: null },
		data = [],
		size = 0;
	for await (const whole of linesOf(pieces, most)) {
		const line =
			whole.length && whole[whole.length - 1] === 13
				? whole.subarray(0, -1)
				: whole;
		if (line.length === 0) {
			if (data.length) {
				yield { ...event, data: Buffer.concat(data) };
			}
			event = { name: "message", id: null };
			data = [];
			size = 0;
			continue;
		}
		const colon = line.indexOf(58);
		const name = line.subarray(0, colon < 0 ? line.length : colon).toString("latin1");
		let value = colon < 0 ? Buffer.alloc(0) : line.subarray(colon + 1);
		value = value[0] === 32 ? value.subarray(1) : value;
		if (name === "data") {
			size += value.length + 1;
			if (size > most) {
				throw new BadAnswer(...TOO_LARGE);
			}
			if (data.length) {
				data.push(Buffer.from("\n"));
			}
			data.push(value);
		} else if (name === "event") {
			event.name = value.toString("latin1");
		} else if (name === "id") {
			event.id = value.toString("latin1");
			if (!/^[\x21-\x7e]{1,64}$/.test(event.id)) {
				throw new BadAnswer("malformed response: the id of an event");
			}
		}
	}
}

function problemOf(value, retryAfter = null) {
	const raw = strict.object(value, "problem");
	return new Problem({
		code: strict.word(raw.code, "problem.code"),
		title: strict.text(raw.title, "problem.title"),
		detail: strict.text(raw.detail ?? "", "problem.detail"),
		remedy: strict.text.maybe(raw.remedy, "problem.remedy"),
		status: strict.integer(raw.status, "problem.status"),
		retryAfter,
	});
}

// Converts an event of a run; null: it is of a later version.
function eventOf({ name, data, id }) {
	if (name === "result") {
		return { type: "result", result: new ExecutionResult(strict.parse(data)), id };
	}
	if (name === "error") {
		throw problemOf(strict.parse(data));
	}
	if (name !== "output") {
		return null;
	}
	const raw = strict.object(strict.parse(data), "output");
	if (raw.stream !== "stdout" && raw.stream !== "stderr") {
		throw strict.wrong("output.stream", "stdout or stderr");
	}
	const bytes =
		raw.data_base64 === undefined
			? Buffer.from(strict.text(raw.data, "output.data"))
			: strict.base64(raw.data_base64, "output.data_base64");
	return {
		type: "output",
		stream: raw.stream,
		data: bytes,
		text: bytes.toString("utf-8"),
		id,
	};
}

function batchItem(raw) {
	const { result = null, error = null } = raw;
	if ((result === null) === (error === null)) {
		throw new BadAnswer("invalid response: a line needs a result or an error");
	}
	return {
		program: strict.integer(raw.program, "program"),
		input: strict.integer(raw.input, "input"),
		result: result && new ExecutionResult(result),
		error: error && problemOf(error),
	};
}

module.exports = { linesOf, rawEvents, eventOf, problemOf, batchItem, TOO_LARGE };
