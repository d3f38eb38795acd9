// SPDX-License-Identifier: Apache-2.0
// SecureSandbox: the smallest way to run a piece of Python.
"use strict";

const { Client } = require("./client.js");
const { BrigError } = require("./errors.js");

const LATE = ["timeout", "cpu_limit"];
const GRACE_MS = 500; // from SIGTERM to SIGKILL, when the time is up

class SecureSandbox {
	#client;
	#options;

	// Options are those of Client.execute(): policy, limits, ...
	constructor(client, options = {}) {
		this.#client = client;
		this.#options = options;
	}

	static execute(code, timeout = 5.0) {
		return new SecureSandbox().execute(code, timeout);
	}

	// Never rejects because of the code, nor because it could not be run. timeout in seconds,
	// limited by the operator's ceiling.
	async execute(code, timeout = 5.0) {
		let result;
		try {
			result = await (this.#client ?? new Client()).execute(code, {
				clamp: true,
				...this.#options,
				limits: { graceMs: GRACE_MS, ...this.#options.limits },
				timeoutMs: timeout * 1000,
			});
		} catch (error) {
			if (!(error instanceof BrigError)) {
				throw error;
			}
			return { status: "error", output: "", error: error.message, result: null };
		}
		if (result.ok) {
			return { status: "success", output: result.stdout, error: null, result };
		}
		const said = [result.stderr.replace(/\n+$/, "")];
		if (result.status !== "failed" || !said[0]) {
			said.push(result.why);
		}
		return {
			status: LATE.includes(result.status) ? "timeout" : "error",
			output: result.stdout,
			error: said.filter(Boolean).join("\n"),
			result,
		};
	}
}

module.exports = { SecureSandbox };
