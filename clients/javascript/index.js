// SPDX-License-Identifier: Apache-2.0
// Runs untrusted code in sealed cells. A program that fails, times out or is stopped gives a
// result; an exception means that it did not run.
"use strict";

const { Client, newKey } = require("./lib/client.js");
const errors = require("./lib/errors.js");
const { Execution, Session, Stream } = require("./lib/handles.js");
const legacy = require("./lib/legacy.js");
const { ExecutionResult } = require("./lib/result.js");
const { SecureSandbox } = require("./lib/sandbox.js");
const { Server } = require("./lib/server.js");

// Runs code with the default Client, and waits for its result.
const executeCode = (code, options) => new Client().execute(code, options);

// Runs a source file; the default language is that of its extension or #! line.
const executeFile = (path, options) => new Client().executeFile(path, options);

// Returns a program's output without control sequences for a terminal.
function printable(text) {
	// eslint-disable-next-line no-control-regex
	return text.replace(
		/[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
		(found) => `\\x${found.charCodeAt(0).toString(16).padStart(2, "0")}`,
	);
}

module.exports = {
	executeCode,
	executeFile,
	printable,
	newKey,
	legacy,
	Client,
	Server,
	Execution,
	ExecutionResult,
	SecureSandbox,
	Session,
	Stream,
	...errors,
};
