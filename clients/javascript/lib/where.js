// SPDX-License-Identifier: Apache-2.0
// Where brig is: an address, the default paths of a service, or the program itself.
"use strict";

const fs = require("node:fs");
const net = require("node:net");
const path = require("node:path");
const { BrigError, CannotConnect } = require("./errors.js");

const START_ONE = "start one with brig serve, or set $BRIG_URL";

function isExecutable(file) {
	try {
		fs.accessSync(file, fs.constants.X_OK);
		return fs.statSync(file).isFile();
	} catch {
		return false;
	}
}

function findProgram(name) {
	const wanted = name || process.env.BRIG || "brig";
	const places = wanted.includes("/")
		? [wanted]
		: (process.env.PATH || "")
				.split(":")
				.filter(Boolean)
				.map((dir) => path.join(dir, wanted));
	const found = places.find(isExecutable);
	if (!found) {
		throw new CannotConnect(
			`program not found: ${wanted}`,
			"install brig, or set $BRIG",
		);
	}
	return path.resolve(found);
}

// As the commands of brig do: the user's own service first, then the machine's.
function usualSockets(env = process.env, isRoot = process.geteuid() === 0) {
	const own = [
		["XDG_RUNTIME_DIR", "brig/brig.sock"],
		["XDG_STATE_HOME", "brig/brig.sock"],
		["HOME", ".local/state/brig/brig.sock"],
	];
	const places = isRoot
		? []
		: own
				.filter(([name]) => (env[name] || "").startsWith("/"))
				.map(([name, rest]) => path.join(env[name], rest));
	return [...places, "/run/brig/brig.sock"];
}

function answers(socketPath) {
	return new Promise((resolve) => {
		const probe = net.connect(socketPath);
		const end = (value) => () => {
			probe.destroy();
			resolve(value);
		};
		probe.setTimeout(2000, end(false));
		probe.once("connect", end(true));
		probe.once("error", end(false));
	});
}

const isLoopback = (host) =>
	host === "localhost" || host === "::1" || (net.isIPv4(host) && host.startsWith("127."));

function parseTcp(address, { token, allowClear }) {
	let url;
	try {
		url = new URL(address);
	} catch {
		throw new BrigError(`${address} is not the address of a service`, "https://HOST:PORT");
	}
	if (url.username || url.password) {
		throw new BrigError(
			"an address must not contain a token",
			"pass token, or set $BRIG_TOKEN",
		);
	}
	if (url.pathname !== "/" || url.search || url.hash) {
		throw new BrigError(`${address} is not the address of a service`, "https://HOST:PORT");
	}
	const tls = url.protocol === "https:";
	const host = url.hostname.replace(/^\[|\]$/g, "");
	if (token && !tls && !allowClear && !isLoopback(host)) {
		throw new BrigError(
			`a token would be sent to ${host} in clear`,
			"use https://, or pass allowClear",
		);
	}
	return {
		kind: "tcp",
		host,
		port: Number(url.port) || (tls ? 443 : 80),
		tls,
		name: url.origin,
	};
}

function parse(url, options) {
	const [, scheme, rest] = /^([a-z]+):(.*)$/s.exec(url) || [];
	if (scheme === "unix" && rest) {
		return { kind: "unix", path: rest, name: url };
	}
	if (scheme === "spawn") {
		return { kind: "spawn", path: findProgram(rest), name: url };
	}
	if (scheme === "http" || scheme === "https") {
		return parseTcp(url, options);
	}
	throw new BrigError(
		`${JSON.stringify(url)} is not an address of brig`,
		"unix:PATH, http://HOST:PORT, https://HOST:PORT or spawn:",
	);
}

// The given address; else $BRIG_URL, $BRIG_SOCKET, a service that answers, the program.
async function find() {
	const named = process.env.BRIG_SOCKET;
	if (named) {
		const plain = named.replace(/^unix:/, "");
		return { kind: "unix", path: plain, name: `unix:${plain}` };
	}
	for (const place of usualSockets()) {
		if (await answers(place)) {
			return { kind: "unix", path: place, name: `unix:${place}` };
		}
	}
	try {
		return { kind: "spawn", path: findProgram(), name: "spawn:" };
	} catch (error) {
		throw new CannotConnect(
			`no service answers at ${usualSockets().join(", ")}, and ` +
				"the program brig was not found",
			START_ONE,
		);
	}
}

module.exports = { find, parse, findProgram, START_ONE };
