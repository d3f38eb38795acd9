// SPDX-License-Identifier: Apache-2.0
// Objects of a client: streams, executions and sessions.
"use strict";

const { setTimeout: sleep } = require("node:timers/promises");
const { calls, fileOf, listOf, sessionOf } = require("./calls.js");
const { BrigError, CannotConnect, ConnectionLost, DeadlineExceeded } = require("./errors.js");
const { eventOf, rawEvents } = require("./events.js");
const { runFields } = require("./request.js");
const { Retries } = require("./retry.js");

// The output of a run as it is written: use it with `for await`. The last event has type "result".
// A lost connection is resumed where it was cut. Leaving the loop early ends the run.
class Stream {
	constructor(client, exchange, { id = null, after = null, signal } = {}) {
		this.client = client;
		this.exchange = exchange;
		this.signal = signal;
		const found = /^\/v1\/executions\/([0-9A-Z]{26})$/.exec(
			exchange.response.headers.location || "",
		);
		this.id = found ? found[1] : id;
		this.lastEventId = after;
		this.result = null;
	}

	static async open(client, call, options = {}) {
		return new Stream(client, await client._open(call, options.signal), options);
	}

	close() {
		this.exchange.close();
	}

	async cancel() {
		if (!this.id) {
			throw new BrigError("the stream has no id, so it cannot be cancelled");
		}
		return this.client.cancel(this.id);
	}

	// Reads to the end.
	async wait() {
		for await (const event of this) {
			void event;
		}
		if (!this.result) {
			throw new ConnectionLost("the stream ended without a result");
		}
		return this.result;
	}

	async *[Symbol.asyncIterator]() {
		try {
			for (;;) {
				try {
					yield* this.#read();
					return;
				} catch (error) {
					this.close();
					await this.#resume(error);
				}
			}
		} finally {
			this.close();
		}
	}

	async *#read() {
		if (this.exchange.response.statusCode === 204) {
			return;
		}
		for await (const raw of rawEvents(
			this.exchange.pieces(),
			this.client.config.maxBytes,
		)) {
			const event = eventOf(raw);
			if (!event) {
				continue;
			}
			this.lastEventId = event.id ?? this.lastEventId;
			if (event.type === "result") {
				this.result = event.result;
				yield event;
				return;
			}
			yield event;
			this.exchange.waitLonger();
		}
		throw new ConnectionLost("the stream ended before the run did");
	}

	async #resume(error) {
		if (
			!this.id ||
			!(error instanceof ConnectionLost) ||
			error instanceof DeadlineExceeded
		) {
			throw error;
		}
		const call = calls.events(this.id, this.lastEventId);
		const retries = new Retries(this.client.config);
		for (let lost = error; ;) {
			await retries.pause(call, lost, this.signal);
			try {
				this.exchange = await this.client._tryOpen(call, this.signal);
				return;
			} catch (again) {
				lost = again instanceof CannotConnect ? error : again;
			}
		}
	}
}

// An asynchronous run: get its state, wait for it, end it.
class Execution {
	constructor(client, id) {
		this.client = client;
		this.id = id;
	}

	poll() {
		return this.client.execution(this.id);
	}

	async wait({ timeoutMs = Infinity, signal } = {}) {
		const end = Date.now() + timeoutMs;
		for (let interval = 50; ; interval = Math.min(interval * 1.5, 2000)) {
			const state = await this.poll();
			if (state.result) {
				return state.result;
			}
			if (state.ended) {
				throw (
					state.error ??
					new BrigError(
						`the result of ${this.id} is no longer kept`,
					)
				);
			}
			if (Date.now() >= end) {
				throw new DeadlineExceeded(
					`${this.id} is ${state.status} after ${timeoutMs} ms`,
				);
			}
			await sleep(Math.min(interval, Math.max(1, end - Date.now())), undefined, {
				signal,
			});
		}
	}

	events(after) {
		return this.client.events(this.id, after);
	}

	cancel() {
		return this.client.cancel(this.id);
	}
}

// An interpreter that keeps state and files from run to run.
class Session {
	constructor(client, state) {
		this.client = client;
		this.id = state.id;
		this.language = state.language;
		this.opened = state;
	}

	run(code, options = {}) {
		return this.client.execute(code, {
			...options,
			language: undefined,
			session: this.id,
		});
	}

	stream(code, options = {}) {
		const fields = runFields({ ...options, code, session: this.id });
		return Stream.open(
			this.client,
			calls.stream(fields, options.idempotencyKey),
			options,
		);
	}

	// Ends the active run; the state is kept.
	async interrupt() {
		return sessionOf(await this.client._json(calls.interrupt(this.id)));
	}

	// Returns a copy of it. `opened.raw` lists the copied names, and those that were left out.
	async fork() {
		return new Session(
			this.client,
			sessionOf(await this.client._json(calls.fork(this.id))),
		);
	}

	async state() {
		return sessionOf(await this.client._json(calls.session(this.id)));
	}

	async files() {
		return listOf("files", fileOf)(await this.client._json(calls.files(this.id)));
	}

	get(path) {
		return this.client._ask(calls.getFile(this.id, path));
	}

	async put(path, content) {
		await this.client._ask(calls.putFile(this.id, path, Buffer.from(content)));
	}

	async delete(path) {
		await this.client._ask(calls.deleteFile(this.id, path));
	}

	async close() {
		await this.client._ask(calls.closeSession(this.id));
	}

	async [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
		await this.close().catch(() => {});
	}
}

module.exports = { Stream, Execution, Session };
