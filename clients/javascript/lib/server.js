// SPDX-License-Identifier: Apache-2.0
// A private service, for scripts and tests; a shared one is started by the system.
"use strict";

const { spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { setTimeout: sleep } = require("node:timers/promises");
const { Client } = require("./client.js");
const { BrigError, CannotConnect } = require("./errors.js");
const { findProgram } = require("./where.js");

const STOP_MS = 40_000;

class Server {
	// options: program, options (words for `brig serve`), and those of Client.
	constructor({ program, options = [], startMs = 30_000, ...client } = {}) {
		Object.assign(this, { program: findProgram(program), options, startMs, client });
	}

	// Starts `brig serve` in a private directory, and returns a client for it.
	async start() {
		// Short: the path of a unix socket has at most 107 bytes.
		this.place = fs.mkdtempSync("/tmp/brig-own-");
		// As root a part of the service is another user, which needs access to it.
		fs.chmodSync(this.place, 0o711);
		this.url = `unix:${this.place}/socket`;
		const log = fs.openSync(path.join(this.place, "log"), "w");
		this.child = spawn(
			this.program,
			[
				"serve",
				"--listen",
				this.url,
				"--state",
				path.join(this.place, "state"),
				...this.options,
			],
			{ stdio: ["ignore", log, log] },
		);
		fs.closeSync(log);
		this.ended = new Promise((resolve) => {
			this.child.once("error", resolve);
			this.child.once("exit", resolve);
		});
		try {
			return await this.#ready();
		} catch (error) {
			await this.stop();
			throw error;
		}
	}

	async #ready() {
		const client = new Client({ ...this.client, url: this.url });
		for (const end = Date.now() + this.startMs; ; await sleep(20)) {
			try {
				await client.health();
				return client;
			} catch (error) {
				if (!(error instanceof BrigError)) {
					throw error;
				}
				if (this.child.exitCode !== null || Date.now() > end) {
					const said = fs
						.readFileSync(path.join(this.place, "log"), "utf-8")
						.slice(0, 4096);
					throw new CannotConnect(
						`brig serve did not start: ${said}`,
					);
				}
			}
		}
	}

	async stop() {
		if (this.child && this.child.exitCode === null && this.child.signalCode === null) {
			this.child.kill("SIGTERM");
			const timer = setTimeout(() => this.child.kill("SIGKILL"), STOP_MS);
			await this.ended;
			clearTimeout(timer);
		}
		if (this.place) {
			fs.rmSync(this.place, { recursive: true, force: true });
		}
	}

	async [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
		await this.stop();
	}
}

module.exports = { Server };
