// SPDX-License-Identifier: Apache-2.0
// Waits in a started Node.js for its assignment. Loaded with --require, which Node.js does before
// it reads the program's file: when this returns, Node.js itself runs the program, in the usual way
// and with the usual frames on the stack. No code of a tenant has run before.
//
// The assignment is the block of src/native/messages/assignment.c. Any error ends the process silently: brig
// then starts the program in another cell, made for it.
'use strict';

const fs = require('fs');
const Module = require('module');
const { dirname } = require('path');

const ORDER_FD = 30;
const READY_FD = 31;
const HEAD_BYTES = 72;

// Threads of the program load this as well, and processes that it starts would.
function leaveNoTrace() {
	const at = process.execArgv.lastIndexOf(__filename);
	if (at > 0) {
		process.execArgv.splice(at - 1, 2);
	}
	Object.defineProperty(process, '_preload_modules', { value: [] });
	delete Module._cache[__filename];
	for (const key of Object.keys(Module._pathCache)) {
		if (Module._pathCache[key] === __filename) {
			delete Module._pathCache[key];
		}
	}
}

// The first use of a function costs far more than the next: so the work that follows the
// assignment, and the first actions of nearly every program, are done once in advance. They must
// leave no traces, and nothing may wait in a queue of the program's own events. Standard output is
// not touched: as a stream it would no longer block, which programs that write to it by number rely
// on.
function rehearse() {
	const { Console } = require('console');
	const { Socket } = require('net');
	// To find out about colours it would open standard error as a stream.
	const quiet = new Console({ stdout: { write() {} }, ignoreErrors: false, colorMode: false });
	quiet.log('%s', 'text', 1, { a: [1] });
	quiet.error(new Error('text'));
	new Socket({ readable: false, writable: true }); // like standard output later: a pipe
	require('tty');

	const block = Buffer.alloc(128);
	block.writeUInt32LE(64, 0);
	block.writeUInt32LE(72, 8);
	block.writeUInt32LE(16, 24);
	block.write('/tmp/brig', 64);
	block.write('x', 80);
	texts(block, 1, 0);
	setArguments(['', ...process.execArgv, process.argv[1]]);
	setEnvironment(Object.keys(process.env).map((name) => `${name}=${process.env[name]}`));
	writeFiles(block, 1, 0);
	fs.unlinkSync('/tmp/brig');
}

function read(buffer, from) {
	for (let at = from; at < buffer.length;) {
		const n = fs.readSync(ORDER_FD, buffer, at, buffer.length - at);
		if (n === 0) {
			throw new Error('no order');
		}
		at += n;
	}
	return buffer;
}

function readOrder() {
	const head = read(Buffer.alloc(HEAD_BYTES), 0);
	const block = Buffer.alloc(number(head, 0));
	head.copy(block);
	return read(block, HEAD_BYTES);
}

function number(block, at) {
	return block.readUInt32LE(at) + block.readUInt32LE(at + 4) * 0x100000000;
}

function bytesAt(block, at) {
	return block.subarray(at, block.indexOf(0, at));
}

function texts(block, count, table) {
	const list = [];
	for (let i = 0; i < count; i++) {
		list.push(bytesAt(block, number(block, table + 8 * i)).toString());
	}
	return list;
}

// Node.js has read its flags: they must be those of the assignment.
function setArguments(argv) {
	const flags = process.execArgv.length;
	const same = process.execArgv.every((flag, i) => flag === argv[i + 1]);
	if (!same || argv[flags + 1] !== process.argv[1]) {
		throw new Error('another program');
	}
	process.argv.length = 2;
	for (let i = flags + 2; i < argv.length; i++) {
		process.argv.push(argv[i]);
	}
}

function setEnvironment(pairs) {
	const now = Object.keys(process.env).map((name) => `${name}=${process.env[name]}`);
	if (now.length === pairs.length && now.every((pair, i) => pair === pairs[i])) {
		return;
	}
	for (const name of Object.keys(process.env)) {
		delete process.env[name];
	}
	for (const pair of pairs) {
		const at = pair.indexOf('=');
		process.env[pair.slice(0, at)] = pair.slice(at + 1);
	}
}

function makeParents(name) {
	for (let at = name.indexOf(0x2f); at > 0; at = name.indexOf(0x2f, at + 1)) {
		try {
			fs.mkdirSync(name.subarray(0, at), 0o700);
		} catch (error) {
			if (error.code !== 'EEXIST') {
				throw error;
			}
		}
	}
}

function writeFile(name, data, mode) {
	const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = fs.constants;
	makeParents(name);
	const fd = fs.openSync(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
	for (let at = 0; at < data.length;) {
		at += fs.writeSync(fd, data, at);
	}
	fs.closeSync(fd);
}

function writeFiles(block, count, table) {
	for (let i = 0; i < count; i++) {
		const [name, data, size, mode] =
			[0, 8, 16, 24].map((field) => number(block, table + 32 * i + field));
		writeFile(bytesAt(block, name), block.subarray(data, data + size), mode);
	}
}

// Returns the object of a chain of prototypes that has the property itself.
function ownerOf(object, name) {
	while (!Object.hasOwn(object, name)) {
		object = Object.getPrototypeOf(object);
	}
	return object;
}

// The program's clocks must not include the time of waiting. Returns the function that corrects
// them. Node.js 18 has another prototype between performance and that of its class than 20 has.
function shiftClocks() {
	let waited = 0;
	const { apply } = Reflect;
	const { uptime } = process;
	const kind = ownerOf(performance, 'now');
	const now = Object.getOwnPropertyDescriptor(kind, 'now');
	const origin = Object.getOwnPropertyDescriptor(kind, 'timeOrigin');
	const shifted = {
		uptime() { return uptime() - waited / 1000; },
		now() { return apply(now.value, this, []) - waited; },
		get timeOrigin() { return apply(origin.get, this, []) + waited; },
	};
	const { get } = Object.getOwnPropertyDescriptor(shifted, 'timeOrigin');
	Object.defineProperty(get, 'name', Object.getOwnPropertyDescriptor(origin.get, 'name'));
	process.uptime = shifted.uptime;
	Object.defineProperty(kind, 'now', { ...now, value: shifted.now });
	Object.defineProperty(kind, 'timeOrigin', { ...origin, get });
	return (ms) => { waited = ms; };
}

function serve() {
	const setWait = shiftClocks();
	rehearse();
	const since = performance.now();
	fs.writeSync(READY_FD, 'r');
	const block = readOrder();
	fs.closeSync(ORDER_FD);
	const [argc, argv, envc, env, , , inputs, inputsAt] =
		[8, 16, 24, 32, 40, 48, 56, 64].map((at) => number(block, at));
	setWait(performance.now() - since);
	setArguments(texts(block, argc, argv));
	setEnvironment(texts(block, envc, env));
	// Not before: Node.js looks for a package.json in its directory, and remembers that there
	// is none.
	process.chdir(dirname(process.argv[1]));
	writeFiles(block, inputs, inputsAt);
	fs.writeSync(READY_FD, 'b');
	fs.closeSync(READY_FD);
}

leaveNoTrace();
// A thread has a replacement that reports it. Asking worker_threads would install another chdir.
if (!process.chdir.disabled) {
	try {
		serve();
	} catch {
		process.reallyExit(125);
	}
}
