// SPDX-License-Identifier: Apache-2.0
// Reads responses: an invalid value throws BadAnswer at once, not an error later.
"use strict";

const { BadAnswer } = require("./errors.js");

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function wrong(where, what) {
	return new BadAnswer(`invalid response: ${where} should be ${what}`);
}

function parse(data) {
	try {
		return JSON.parse(decoder.decode(data));
	} catch (error) {
		throw new BadAnswer(
			`the response is not JSON: ${String(error.message).slice(0, 200)}`,
		);
	}
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// A reader for one type; `maybe` accepts null and missing values, as null.
function reader(what, holds) {
	const read = (value, where) => {
		if (!holds(value)) {
			throw wrong(where, what);
		}
		return value;
	};
	read.maybe = (value, where) =>
		value === null || value === undefined ? null : read(value, where);
	return read;
}

const object = reader("an object", isObject);
const list = reader("a list", Array.isArray);
const text = reader("a text", (value) => typeof value === "string");
const boolean = reader("true or false", (value) => typeof value === "boolean");
const number = reader("a number", (value) => Number.isFinite(value));
const integer = reader("an integer", (value) => Number.isInteger(value));
// An id, a status, a code: text that is allowed in a path or a message.
const word = reader(
	"a word",
	(value) =>
		typeof value === "string" &&
		/^[A-Za-z0-9_.+-]{1,64}$/.test(value) &&
		value !== "." &&
		value !== "..",
);

function base64(value, where) {
	const plain = text(value, where);
	if (plain.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(plain)) {
		throw wrong(where, "base64");
	}
	return Buffer.from(plain, "base64");
}

// The entries of an object, each read; without a prototype, so that no name has a special meaning.
function mapOf(read, value, where) {
	const found = Object.create(null);
	for (const [name, item] of Object.entries(object(value, where))) {
		found[name] = read(item, `${where}.${name}`);
	}
	return found;
}

module.exports = {
	parse,
	wrong,
	object,
	list,
	text,
	boolean,
	number,
	integer,
	word,
	base64,
	mapOf,
};
