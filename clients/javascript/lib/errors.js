// SPDX-License-Identifier: Apache-2.0
// The errors. A program that ran and failed is not an error: it gives a result.
"use strict";

class BrigError extends Error {
	constructor(message, remedy = null) {
		super(remedy ? `${message} (${remedy})` : message);
		this.name = new.target.name;
		this.remedy = remedy;
	}
}

// brig refused the request, or could not run it. `code` is stable; `title`, `detail` and `remedy`
// are for people.
class Problem extends BrigError {
	constructor({ code, title, detail = "", remedy = null, status = 0, retryAfter = null }) {
		super(`${code}: ${detail || title}`, remedy);
		Object.assign(this, { code, title, detail, status, retryAfter });
	}
}

// No service answers, or the program was not found. Nothing was sent.
class CannotConnect extends BrigError {}
// The connection ended before the response was complete. Whether the code ran is not known.
class ConnectionLost extends BrigError {}
// The response did not arrive within the client's deadline.
class DeadlineExceeded extends ConnectionLost {}
// The response is invalid: too large, malformed, or of the wrong type.
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
