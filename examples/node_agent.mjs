// SPDX-License-Identifier: Apache-2.0
// An agent's tool in Node: code runs in a session, output is shown as it is printed, and a run that
// takes too long for the caller is interrupted without losing the session.
//
//     node examples/node_agent.mjs
//
// The model is a list of calls; a real one would read the output of this program.
import { Problem, Server, printable } from "../clients/javascript/index.mjs";

const PATIENCE_MS = 1500;

const calls = [
	"prices = {'apple': 3, 'pear': 4}\nprint('stored', len(prices))",
	"import time\nprint('thinking', flush=True)\ntime.sleep(60)",
	"import socket\nsocket.create_connection(('192.0.2.1', 80), timeout=1)",
	"sum(prices.values())",
];

async function runTool(session, code) {
	const stream = await session.stream(code);
	// An interrupt ends the run, not the interpreter: its variables stay.
	const timer = setTimeout(() => session.interrupt().catch(() => {}), PATIENCE_MS);
	try {
		for await (const event of stream) {
			if (event.type === "output" && event.stream === "stdout") {
				process.stdout.write(printable(event.text));
			}
		}
		return stream.result;
	} finally {
		clearTimeout(timer);
	}
}

function report(result) {
	if (result.ok) {
		return result.value === null ? "ok" : `ok, value ${JSON.stringify(result.value)}`;
	}
	const last = result.stderr.trim().split("\n").pop();
	return printable([result.status, last].filter(Boolean).join(": "));
}

const server = new Server();
const client = await server.start();
try {
	const session = await client.session({
		language: "python",
		limits: { memoryBytes: 128 << 20 },
	});
	for (const [index, code] of calls.entries()) {
		console.log(`call ${index + 1}: ${report(await runTool(session, code))}`);
	}
	await session.close();
} catch (error) {
	// brig could not do it, and the error has a remedy.
	console.error(error instanceof Problem ? `${error.code}: ${error.remedy}` : error);
	process.exitCode = 1;
} finally {
	await server.stop();
}
