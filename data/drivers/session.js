// SPDX-License-Identifier: Apache-2.0
// The interpreter of a session: runs the code that arrives by descriptor 3, one piece after the
// other, as the REPL of Node.js would: the next run sees the declarations of the previous ones, and
// await works anywhere. The protocol on the descriptor: src/lib/session/session_channel.h. The code
// has full control over this process.
'use strict';

const fs = require('fs');
const net = require('net');
const repl = require('repl');
const { PassThrough } = require('stream');
const { inspect } = require('util');
const vm = require('vm');

const CHANNEL_FD = 3;
const VALUE_BYTES = 64 * 1024;
const SHOWN_CHARS = 4000;
const INTERRUPTED = 'ERR_SCRIPT_EXECUTION_INTERRUPTED';

const TURN = Symbol.for('brig.turn');

class Exit extends Error {}

const channel = new net.Socket({ fd: CHANNEL_FD, readable: true, writable: true });
let chunks = [];
let size = 0;
let current = null; // the active run
let pending = false; // it was interrupted before it began

// Never read and never printed: only its evaluator is used.
const server = repl.start({
	prompt: '',
	input: new PassThrough(),
	output: new PassThrough().resume(),
	terminal: false,
	useGlobal: true,
	ignoreUndefined: true,
	writer: String,
});
const evaluate = server.eval;
// Names that a fork of the session need not copy.
Object.defineProperty(globalThis, Symbol.for('brig.names'), { value: new Set(Object.getOwnPropertyNames(globalThis)) });
// Exceptions of the code arrive here, later or at once, and would be printed by the REPL.
server._domain.removeAllListeners('error');
server._domain.on('error', (error) => {
	if (current) {
		settle(current, error);
	}
});

// SIGINT stops code that this calls, even an endless loop. Code that awaits is stopped by
// interrupt().
const turn = new vm.Script('globalThis[Symbol.for("brig.turn")]()', { filename: 'node:vm' });

// The REPL has one, and code that is stopped leaves it in the middle.
function leaveDomains() {
	while (process.domain) {
		process.domain.exit();
	}
}

function callStoppable(code) {
	Object.defineProperty(globalThis, TURN, { configurable: true, value: code });
	try {
		turn.runInThisContext({ breakOnSigint: true, displayErrors: false });
	} finally {
		leaveDomains();
	}
}

function describe(error) {
	const text = error && error.stack ? String(error.stack) : `Uncaught ${inspect(error)}`;
	// Frames beneath the run are those of the driver and of Node.js itself.
	const lines = text.split('\n');
	const end = lines.findIndex((line) => /^ {4}at .*(node:vm|node:repl|node:internal|REPLServer)/.test(line));
	return (end > 0 ? lines.slice(0, end) : lines).join('\n');
}

function encode(value) {
	try {
		const text = JSON.stringify(value);
		const data = text === undefined ? null : Buffer.from(text);
		if (data && data.length <= VALUE_BYTES) {
			return data;
		}
	} catch {
		// It cannot be written as JSON.
	}
	return value === undefined ? Buffer.alloc(0) : encodeShown(value);
}

// How Node.js shows it, as far as there is room: src/lib/guard/value.h.
function encodeShown(value) {
	try {
		const text = inspect(value);
		const short = text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS - 3)}...` : text;
		return Buffer.from(`r${JSON.stringify(short.toWellFormed ? short.toWellFormed() : short)}`);
	} catch {
		return Buffer.alloc(0);
	}
}

function finish(run, status, value) {
	if (current !== run) {
		return;
	}
	current = null;
	const data = run.valued ? encode(value) : Buffer.alloc(0);
	channel.write(Buffer.concat([Buffer.from(`done ${run.serial} ${status & 255} ${data.length}\n`), data]));
	setImmediate(next);
}

function fail(run, error) {
	if (error instanceof Exit) {
		finish(run, error.status, undefined);
		return;
	}
	const cause = error instanceof repl.Recoverable ? error.err : error;
	try {
		fs.writeSync(2, `${describe(cause)}\n`);
	} catch {
		// It has closed its standard error.
	}
	const stopped = cause && cause.code === INTERRUPTED;
	finish(run, stopped ? 130 : 1, undefined);
}

// The lowest free number is used: so it is 0 again.
function setInput(data) {
	const path = `/tmp/.stdin-${process.pid}`;
	try {
		fs.closeSync(0);
	} catch {
		// The program has closed it already.
	}
	if (data.length) {
		fs.rmSync(path, { force: true });
		fs.writeFileSync(path, data, { flag: 'wx', mode: 0o600 });
	}
	fs.openSync(data.length ? path : '/dev/null', 'r');
	if (data.length) {
		fs.unlinkSync(path);
	}
	let stream = null;
	Object.defineProperty(process, 'stdin', {
		configurable: true,
		enumerable: true,
		get() {
			stream ??= fs.createReadStream(null, { fd: 0, autoClose: false });
			return stream;
		},
	});
}

function execute(run, code) {
	// An uncaught error, of this run or of code that an earlier run has left behind.
	process.removeAllListeners('uncaughtException');
	process.on('uncaughtException', (error) => {
		if (current) {
			fail(current, error);
		}
	});
	process.exit = function exit(status = process.exitCode ?? 0) {
		throw Object.assign(new Exit('process.exit'), { status: Number(status) || 0 });
	};
	if (!process.listeners('SIGINT').includes(interrupt)) {
		process.on('SIGINT', interrupt);
	}
	process.exitCode = undefined;
	if (pending) {
		pending = false;
		finish(run, 130, undefined);
		return;
	}
	run.stoppable = true;
	try {
		callStoppable(() => evaluate.call(server, code, server.context, `<run-${run.serial}>`,
			(error, value) => settle(run, error, value)));
	} catch (error) {
		run.outcome = [error];
	}
	run.stoppable = false;
	if (run.outcome) {
		settle(run, ...run.outcome);
	}
}

// Reports how the code has ended. Work that must not be interrupted waits until it cannot be.
function settle(run, error, value) {
	if (run.stoppable) {
		run.outcome ??= [error, value];
	} else if (error) {
		fail(run, error);
	} else if (value instanceof Promise) {
		value.then((result) => settle(run, null, result), (reason) => settle(run, reason ?? new Error(String(reason))));
	} else {
		finish(run, Number(process.exitCode) || 0, value);
	}
}

// Returns the whole request, or nothing yet.
function next() {
	leaveDomains();
	if (current || !size) {
		return;
	}
	const data = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
	chunks = [data];
	const end = data.indexOf(10);
	if (end < 0) {
		return;
	}
	const [, serial, codeSize, inputSize, argsCount, valued] = data.toString('latin1', 0, end).split(' ').map(Number);
	let at = end + 1 + codeSize + inputSize;
	const args = [];
	while (args.length < argsCount) {
		const zero = data.indexOf(0, at);
		if (zero < 0 || data.length < at) {
			return;
		}
		args.push(data.toString('utf8', at, zero));
		at = zero + 1;
	}
	if (data.length < at) {
		return;
	}
	chunks = data.length > at ? [data.subarray(at)] : [];
	size = data.length - at;
	current = { serial, valued: valued === 1 };
	const input = end + 1 + codeSize;
	const code = data.toString('utf8', end + 1, input);
	process.argv.length = 1;
	process.argv.push('', ...args);
	setInput(data.subarray(input, input + inputSize));
	execute(current, code);
}

// Node.js itself stops code that runs without a break; this is for code that awaits.
function interrupt() {
	if (current) {
		fail(current, Object.assign(new Error('interrupted'), { code: INTERRUPTED, stack: 'interrupted' }));
		return;
	}
	// For a run that is about to arrive, in this turn or the next; or one that has ended.
	pending = true;
	setImmediate(() => setImmediate(() => {
		pending = false;
	}));
}

process.on('SIGINT', interrupt);
process.on('unhandledRejection', (error) => {
	if (current) {
		fail(current, error);
	}
});
channel.on('data', (chunk) => {
	chunks.push(chunk);
	size += chunk.length;
	setImmediate(next); // a signal that arrived with it is handled first
});
channel.on('end', () => process.reallyExit(0));
channel.on('error', () => process.reallyExit(0));
channel.write('ready\n');
