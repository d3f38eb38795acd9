// SPDX-License-Identifier: Apache-2.0
// One request on a connection of its own, and its answer as it comes.
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

// What a failed request means, by how far it was.
function meaning(error, place, connected) {
	if (error instanceof BrigError) {
		return error;
	}
	if (!connected) {
		return new CannotConnect(`${place.name}: ${error.message}`, START_ONE);
	}
	if (String(error.code).startsWith("HPE_")) {
		return new BadAnswer(`the answer is malformed: ${error.code}`);
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
				reject(new BadAnswer("the answer does not come to its point"));
			});
		});
		// Whoever waits for the head hears of it; a failure before that is nobody's surprise.
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

	// The time for the answer begins anew.
	waitLonger() {
		clearTimeout(this.timer);
		const ms = this.config.deadlineMs;
		this.timer = setTimeout(() => {
			this.late = new DeadlineExceeded(`no answer within ${ms} ms`);
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

	// The answer's head, of a success; its body is still to come.
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
					`HTTP status ${statusCode} without a problem: is that brig?`,
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
					"the connection ended before the answer did",
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
