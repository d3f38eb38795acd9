// SPDX-License-Identifier: Apache-2.0
// A connection to brig.
"use strict";

const { randomBytes } = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");
const { calls, executionOf, listOf, pageOf, sessionOf } = require("./calls.js");
const { BadAnswer, ConnectionLost, Problem } = require("./errors.js");
const { batchItem, linesOf } = require("./events.js");
const { Exchange } = require("./exchange.js");
const { Execution, Session, Stream } = require("./handles.js");
const { languageOf } = require("./languages.js");
const { runFields } = require("./request.js");
const { ExecutionResult } = require("./result.js");
const { Retries } = require("./retry.js");
const spawn = require("./spawn.js");
const strict = require("./strict.js");
const where = require("./where.js");

const newKey = () => randomBytes(18).toString("base64url");

class Client {
	#place = null;

	// options: url ("unix:PATH", "http://HOST:PORT", "https://HOST:PORT", "spawn:"), token, ca,
	// deadlineMs, maxBytes, retries, retryMs, allowClear. A string is the url.
	constructor(options = {}) {
		const given = typeof options === "string" ? { url: options } : options;
		const ca = given.ca ?? process.env.BRIG_CA;
		this.config = {
			deadlineMs: 600_000,
			maxBytes: 256 << 20,
			retries: 4,
			retryMs: 30_000,
			allowClear: false,
			...given,
			token: given.token ?? process.env.BRIG_TOKEN,
			ca: ca && fs.readFileSync(ca),
		};
		const url = given.url ?? process.env.BRIG_URL;
		if (url) {
			this.#place = where.parse(url, this.config);
		}
	}

	async _place() {
		this.#place ??= await where.find();
		return this.#place;
	}

	// --- running code ---

	// Runs code and waits for its result, even if it fails. options.signal ends it.
	async execute(code, options = {}) {
		const place = await this._place();
		if (place.kind === "spawn") {
			runFields(options); // An unknown option is an error everywhere.
			return spawn.run(
				place.path,
				{ language: "python", ...options, code },
				this.config,
			);
		}
		const call = calls.execute(runFields({ ...options, code }), options.idempotencyKey);
		return new ExecutionResult(await this._json(call, options.signal));
	}

	// Runs a source file; the default language is that of its extension or #! line.
	async executeFile(file, options = {}) {
		const code = await fs.promises.readFile(file, "utf-8");
		const place = await this._place();
		if (place.kind === "spawn") {
			return spawn.run(
				place.path,
				{ ...options, file: path.resolve(file) },
				this.config,
			);
		}
		const language = options.language ?? languageOf(file, code, await this.runtimes());
		return this.execute(code, { ...options, language });
	}

	async stream(code, options = {}) {
		const call = calls.stream(runFields({ ...options, code }), options.idempotencyKey);
		return Stream.open(this, call, { signal: options.signal });
	}

	// Submits a run, and returns as soon as it is recorded.
	async submit(code, options = {}) {
		const call = calls.submit(
			runFields({ ...options, code }),
			options.idempotencyKey ?? newKey(),
		);
		const answer = strict.object(await this._json(call, options.signal), "answer");
		return new Execution(this, strict.word(answer.id, "id"));
	}

	async execution(id) {
		return executionOf(await this._json(calls.execution(id)));
	}

	async executions({ before, limit } = {}) {
		return pageOf(
			"executions",
			executionOf,
		)(await this._json(calls.executions({ before, limit })));
	}

	events(id, after = null, { signal } = {}) {
		return Stream.open(this, calls.events(id, after), { id, after, signal });
	}

	// Ends a run; returns when it has ended completely.
	async cancel(id) {
		return executionOf(await this._json(calls.cancel(id)));
	}

	// Runs each program with each input; yields the results as they end. A program is {code,
	// ...options of execute()}; an input has stdin, args, env or files, in place of the
	// program's own.
	async *batch(programs, inputs, { signal } = {}) {
		if ((await this._place()).kind === "spawn") {
			yield* this.#spawnBatch(programs, inputs ?? [{}], signal);
			return;
		}
		const fields = { programs: programs.map(runFields) };
		if (inputs) {
			fields.inputs = inputs.map(runFields);
		}
		const exchange = await this._open(calls.batch(fields), signal);
		let count = 0;
		for await (const line of linesOf(exchange.pieces(), this.config.maxBytes)) {
			if (line.length === 0) {
				continue;
			}
			const raw = strict.object(strict.parse(line), "line");
			if (raw.done === true) {
				if (raw.count !== count) {
					throw new BadAnswer(
						"invalid response: lines are missing",
					);
				}
				return;
			}
			count++;
			yield batchItem(raw);
			exchange.waitLonger();
		}
		throw new ConnectionLost("the batch ended before its last line");
	}

	async *#spawnBatch(programs, inputs, signal) {
		for (const [program, options] of programs.entries()) {
			for (const [input, given] of inputs.entries()) {
				const { code, ...rest } = { ...options, ...given, signal };
				try {
					yield {
						program,
						input,
						result: await this.execute(code, rest),
						error: null,
					};
				} catch (error) {
					if (!(error instanceof Problem)) {
						throw error;
					}
					yield { program, input, result: null, error };
				}
			}
		}
	}

	// --- sessions ---

	async session(options = {}) {
		return new Session(
			this,
			sessionOf(await this._json(calls.openSession(runFields(options)))),
		);
	}

	async attach(id) {
		return new Session(this, sessionOf(await this._json(calls.session(id))));
	}

	async sessions({ gone = false, before, limit } = {}) {
		const page = { state: gone ? "gone" : undefined, before, limit };
		return pageOf("sessions", sessionOf)(await this._json(calls.sessions(page)));
	}

	// --- information ---

	async runtimes() {
		const place = await this._place();
		return place.kind === "spawn"
			? spawn.listing(place.path, "runtimes", "runtimes", this.config)
			: listOf("runtimes")(await this._json(calls.runtimes()));
	}

	async policies() {
		const place = await this._place();
		return place.kind === "spawn"
			? spawn.listing(place.path, "policy", "policies", this.config)
			: listOf("policies")(await this._json(calls.policies()));
	}

	// Would this be allowed, and what would it get? Nothing is run.
	async check(options = {}) {
		return strict.object(await this._json(calls.check(runFields(options))), "answer");
	}

	async health() {
		if ((await this._place()).kind === "spawn") {
			await this.runtimes();
			return "ok";
		}
		return strict.word(
			strict.object(await this._json(calls.health()), "answer").status,
			"status",
		);
	}

	async metrics() {
		return (await this._ask(calls.metrics())).toString("utf-8");
	}

	// --- requests ---

	// The head of a successful response; its body has not been read yet.
	async _tryOpen(call, signal) {
		const place = await this._place();
		if (place.kind === "spawn") {
			throw spawn.needsService(`${call.method} ${call.path.split("?")[0]}`);
		}
		signal?.throwIfAborted();
		return new Exchange(place, call, this.config, signal).open();
	}

	async #retrying(call, signal, work) {
		const retries = new Retries(this.config);
		for (;;) {
			try {
				return await work(await this._tryOpen(call, signal));
			} catch (error) {
				await retries.pause(call, error, signal);
			}
		}
	}

	_open(call, signal) {
		return this.#retrying(call, signal, (exchange) => exchange);
	}

	_ask(call, signal) {
		return this.#retrying(call, signal, (exchange) => exchange.body());
	}

	async _json(call, signal) {
		return strict.parse(await this._ask(call, signal));
	}
}

module.exports = { Client, newKey };
