// SPDX-License-Identifier: Apache-2.0
// When to retry, and how long to wait before.
"use strict";

const { setTimeout: sleep } = require("node:timers/promises");
const { ConnectionLost, DeadlineExceeded, Problem } = require("./errors.js");

// Waiting does not help for these, or not within a reasonable time.
const HOPELESS = ["host_unable", "quota_exceeded", "session_limit"];

function isWorthIt(call, error) {
	if (error instanceof Problem) {
		// 429 is sent before anything is started; 503 also for requests that may have run.
		return (
			!HOPELESS.includes(error.code) &&
			(error.status === 429 || (error.status === 503 && call.safe))
		);
	}
	return call.safe && error instanceof ConnectionLost && !(error instanceof DeadlineExceeded);
}

class Retries {
	constructor({ retries, retryMs }) {
		this.times = retries;
		this.left = retryMs;
		this.next = 100;
	}

	// Waits if a retry makes sense, and throws the error if not.
	async pause(call, error, signal) {
		const plain =
			error instanceof Problem && error.retryAfter !== null
				? error.retryAfter * 1000
				: this.next;
		// Clients that were refused together should not retry together.
		const wait = plain * (1 + Math.random() / 4);
		if (this.times <= 0 || wait > this.left || !isWorthIt(call, error)) {
			throw error;
		}
		this.times--;
		this.left -= wait;
		this.next *= 2;
		await sleep(wait, undefined, { signal });
	}
}

module.exports = { Retries };
