// SPDX-License-Identifier: Apache-2.0
// The official SDK against brig itself: usage: product.mjs URL TOKEN | product.mjs COMMAND...
// Prints what it learnt as one JSON object.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [target, ...words] = process.argv.slice(2);
const transport = target.startsWith('http')
	? new StreamableHTTPClientTransport(new URL(target),
		{ requestInit: { headers: { Authorization: `Bearer ${words[0]}` } } })
	: new StdioClientTransport({ command: target, args: words });
const client = new Client({ name: 'test', version: '1' }, { capabilities: {} });
const seen = {};

// The SDK validates each structured answer against the tool's output schema, once it has the list.
const call = (name, args = {}) => client.callTool({ name, arguments: args });
const told = (result) => ({ error: !!result.isError, text: result.content[0].text });

await client.connect(transport);
seen.server = client.getServerVersion().name;
seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
seen.run = (await call('execute_code', { code: 'print(6 * 7)' })).structuredContent;

const session = (await call('open_session', { language: 'python' })).structuredContent.id;
await call('execute_code', { session_id: session, code: 'x = [1]' });
seen.state = (await call('execute_code', { session_id: session, code: 'x.append(2); print(x)' }))
	.structuredContent.stdout;

// Refusals and errors, from any layer, are answers like any other.
seen.guard = told(await call('execute_code', { guard: 'imports', code: 'import socket' }));
seen.failed = told(await call('execute_code', { code: 'raise SystemExit(3)' }));
seen.language = told(await call('execute_code', { language: 'nosuch', code: '1' }));
seen.argument = told(await call('execute_code', { code: 1 }));
seen.nobody = told(await call('execute_code', { session_id: '01ARZ3NDEKTSV4RRFFQ69G5FAV', code: '1' }));
seen.unknown = await call('no_such_tool').then(() => 'accepted', (e) => e.code);

await call('execute_code', { session_id: 'my-state_1', code: 'y = 41' });
seen.named = (await call('execute_code', { session_id: 'my-state_1', code: 'print(y + 1)' }))
  .structuredContent;
seen.unnamed = told(await call('execute_code', { session_id: 'a b', code: '1' }));
await call('close_session', { session_id: session });
seen.closed = told(await call('execute_code', { session_id: session, code: 'print(x)' }));
seen.after = (await call('execute_code', { code: 'print("still here")' })).structuredContent.stdout;
if (transport.terminateSession) {
	await transport.terminateSession();
}
await client.close();
console.log(JSON.stringify(seen));
