// SPDX-License-Identifier: Apache-2.0
// What can go wrong. A program that ran and failed is no error: it is a result.
"use strict";

class BrigError extends Error {
	constructor(message, remedy = null) {
		super(remedy ? `${message} (${remedy})` : message);
		this.name = new.target.name;
		this.remedy = remedy;
	}
}

// brig answered that it did not run, or did not do, what was asked. `code` is stable; `title`,
// `detail` and `remedy` are for people.
class Problem extends BrigError {
	constructor({ code, title, detail = "", remedy = null, status = 0, retryAfter = null }) {
		super(`${code}: ${detail || title}`, remedy);
		Object.assign(this, { code, title, detail, status, retryAfter });
	}
}

// Nobody answers there, or the program is not to be found. Nothing was asked.
class CannotConnect extends BrigError {}
// The connection ended before the answer did. Whether it ran is not known.
class ConnectionLost extends BrigError {}
// The answer did not come in the time that the client was given.
class DeadlineExceeded extends ConnectionLost {}
// The answer is not what brig says: too large, malformed, or of the wrong type.
class BadAnswer extends BrigError {}
// Only a running service can do this.
class NeedsService extends BrigError {}
// The name of a result's file leads, or could lead, out of the directory.
class UnsafePath extends BrigError {}

module.exports = {
	BrigError,
	Problem,
	CannotConnect,
	ConnectionLost,
	DeadlineExceeded,
	BadAnswer,
	NeedsService,
	UnsafePath,
};
