// SPDX-License-Identifier: Apache-2.0
// One request on a connection of its own, and its response as it arrives.
"use strict";

const http = require("node:http");
const https = require("node:https");
const {
	BadAnswer,
	BrigError,
	CannotConnect,
	ConnectionLost,
	DeadlineExceeded,
} = require("./errors.js");
const { problemOf, TOO_LARGE } = require("./events.js");
const strict = require("./strict.js");
const { START_ONE } = require("./where.js");

const PROBLEM_MAX = 1 << 20;
const HEAD_MAX = 64 << 10;

function options(place, call, config) {
	const headers = { "User-Agent": "brig-node", Connection: "close", ...call.headers };
	if (call.body !== undefined || call.method !== "GET") {
		headers["Content-Length"] = call.body ? call.body.length : 0;
	}
	const given = {
		method: call.method,
		path: call.path,
		headers,
		agent: false,
		maxHeaderSize: HEAD_MAX,
	};
	if (place.kind === "unix") {
		return {
			...given,
			socketPath: place.path,
			headers: { Host: "localhost", ...headers },
		};
	}
	if (config.token) {
		headers.Authorization = `Bearer ${config.token}`;
	}
	return {
		...given,
		host: place.host,
		port: place.port,
		...(place.tls && { ca: config.ca, minVersion: "TLSv1.2" }),
	};
}

// The error of a failed request, by its progress.
function meaning(error, place, connected) {
	if (error instanceof BrigError) {
		return error;
	}
	if (!connected) {
		return new CannotConnect(`${place.name}: ${error.message}`, START_ONE);
	}
	if (String(error.code).startsWith("HPE_")) {
		return new BadAnswer(`malformed response: ${error.code}`);
	}
	return new ConnectionLost(`the connection ended: ${error.message}`);
}

class Exchange {
	constructor(place, call, config, signal) {
		this.place = place;
		this.config = config;
		this.connected = false;
		this.signal = signal;
		this.request = (place.tls ? https : http).request(options(place, call, config));
		this.head = new Promise((resolve, reject) => {
			this.request.once("response", resolve);
			this.request.on("error", reject);
			this.request.once("upgrade", (response, socket) => {
				socket.destroy();
				reject(new BadAnswer("unexpected interim response"));
			});
		});
		// The caller that waits for the head gets the error; an earlier one must not be
		// reported as unhandled.
		this.head.catch(() => {});
		this.request.once("socket", (socket) => {
			socket.once(place.tls ? "secureConnect" : "connect", () => {
				this.connected = true;
			});
		});
		this.onAbort = () => this.request.destroy(signal.reason);
		if (signal) {
			signal.aborted
				? this.onAbort()
				: signal.addEventListener("abort", this.onAbort);
		}
		this.waitLonger();
		this.request.end(call.body);
	}

	// Restarts the deadline.
	waitLonger() {
		clearTimeout(this.timer);
		const ms = this.config.deadlineMs;
		this.timer = setTimeout(() => {
			this.late = new DeadlineExceeded(`no response within ${ms} ms`);
			this.request.destroy(this.late);
			this.response?.destroy(this.late);
		}, ms);
	}

	close() {
		clearTimeout(this.timer);
		this.signal?.removeEventListener("abort", this.onAbort);
		this.request.destroy();
	}

	fail(error) {
		this.signal?.throwIfAborted();
		return this.late ?? meaning(error, this.place, this.connected);
	}

	// The head of a successful response; its body has not been read yet.
	async open() {
		try {
			this.response = await this.head;
		} catch (error) {
			this.close();
			throw this.fail(error);
		}
		const { statusCode, headers } = this.response;
		if (statusCode >= 200 && statusCode < 300) {
			return this;
		}
		try {
			const kind = (headers["content-type"] || "").split(";")[0].trim();
			if (
				statusCode < 400 ||
				!["application/problem+json", "application/json"].includes(kind)
			) {
				throw new BadAnswer(
					`HTTP status ${statusCode} without a problem: this is not brig`,
				);
			}
			const after = /^[0-9]{1,9}$/.test(headers["retry-after"] || "")
				? Number(headers["retry-after"])
				: null;
			throw problemOf(strict.parse(await this.body(PROBLEM_MAX)), after);
		} finally {
			this.close();
		}
	}

	async *pieces() {
		try {
			for await (const piece of this.response) {
				yield piece;
			}
			if (!this.response.complete) {
				throw new ConnectionLost(
					"the connection ended before the response was complete",
				);
			}
		} catch (error) {
			throw this.fail(error);
		} finally {
			this.close();
		}
	}

	async body(most = this.config.maxBytes) {
		const parts = [];
		let size = 0;
		for await (const piece of this.pieces()) {
			size += piece.length;
			if (size > most) {
				throw new BadAnswer(...TOO_LARGE);
			}
			parts.push(piece);
		}
		return Buffer.concat(parts);
	}
}

module.exports = { Exchange };
