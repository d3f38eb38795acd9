// SPDX-License-Identifier: Apache-2.0
// The official SDK of the legacy era against a server: usage: legacy.mjs URL | legacy.mjs COMMAND...
// Prints what it learnt as one JSON object.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
	CreateMessageRequestSchema,
	ElicitRequestSchema,
	LoggingMessageNotificationSchema,
	ResourceUpdatedNotificationSchema,
	ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

const [target, ...words] = process.argv.slice(2);
const transport = target.startsWith('http')
	? new StreamableHTTPClientTransport(new URL(target))
	: new StdioClientTransport({ command: target, args: words });
const client = new Client({ name: 'test', version: '1' },
	{ capabilities: { sampling: {}, elicitation: {}, roots: {} } });
const seen = { logs: 0, changed: 0, updated: [], progress: [] };

client.setRequestHandler(CreateMessageRequestSchema, async () => ({
	role: 'assistant', model: 'none', content: { type: 'text', text: 'sampled' } }));
client.setRequestHandler(ElicitRequestSchema, async () => ({
	action: 'accept', content: { username: 'u', email: 'e' } }));
client.setNotificationHandler(LoggingMessageNotificationSchema, () => { seen.logs++; });
client.setNotificationHandler(ToolListChangedNotificationSchema, () => { seen.changed++; });
client.setNotificationHandler(ResourceUpdatedNotificationSchema,
	(n) => { seen.updated.push(n.params.uri); });

const call = async (name, args = {}, options = undefined) =>
	(await client.callTool({ name, arguments: args }, undefined, options)).content[0].text;

await client.connect(transport);
seen.server = client.getServerVersion().name;
seen.instructions = client.getInstructions();
seen.tools = (await client.listTools()).tools.length;
seen.echo = (await client.callTool({ name: 'test_echo', arguments: { text: 'é\u0001"' } }))
	.structuredContent;
await client.setLoggingLevel('debug');
seen.text = await call('test_tool_with_logging');
await call('test_tool_with_progress', {}, { onprogress: (p) => seen.progress.push(p.progress) });
seen.sampling = await call('test_sampling', { prompt: 'p' });
seen.elicitation = await call('test_elicitation', { message: 'm' });
seen.resource = (await client.readResource({ uri: 'test://static-text' })).contents[0].text;
seen.prompt = (await client.getPrompt({ name: 'test_prompt_with_arguments',
	arguments: { arg1: 'a', arg2: 'b' } })).messages[0].content.text;
await client.subscribeResource({ uri: 'test://watched-resource' });
await call('test_trigger_update', { uri: 'test://watched-resource' });
await call('test_trigger_tool_change');
seen.bad = (await client.callTool({ name: 'test_slow', arguments: { ms: 'x' } })).content[0].text;
seen.unknown = await call('no_such_tool').then(() => 'accepted', (e) => e.code);

// Cancelled by the client: the run ends, and nothing hangs.
const controller = new AbortController();
const cancelled = call('test_slow', { ms: 20000 }, { signal: controller.signal })
	.then(() => 'answered', () => 'cancelled');
setTimeout(() => controller.abort(), 200);
seen.abort = await cancelled;
await new Promise((done) => setTimeout(done, 300));
seen.cancelled = (await client.callTool({ name: 'test_echo', arguments: {} }))
	.structuredContent.cancelled;
if (transport.terminateSession) {
	await transport.terminateSession();
}
await client.close();
console.log(JSON.stringify(seen));
