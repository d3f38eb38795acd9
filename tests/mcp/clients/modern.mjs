// SPDX-License-Identifier: Apache-2.0
// The official client of the modern era against a server: usage as legacy.mjs.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [target, ...words] = process.argv.slice(2);
const transport = target.startsWith('http')
	? new StreamableHTTPClientTransport(new URL(target))
	: new StdioClientTransport({ command: target, args: words });
const client = new Client({ name: 'test', version: '1' }, {
	capabilities: { sampling: {}, elicitation: {}, roots: {} },
	versionNegotiation: { mode: 'auto' },
});
const seen = { progress: [] };

client.setRequestHandler('elicitation/create', async () => ({
	action: 'accept', content: { name: 'Ada', color: 'red', ok: true } }));
client.setRequestHandler('sampling/createMessage', async () => ({
	role: 'assistant', model: 'none', content: { type: 'text', text: 'sampled' } }));
client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///r' }] }));

const call = async (name, args = {}, options = undefined) =>
	(await client.callTool({ name, arguments: args }, options)).content[0].text;

await client.connect(transport);
seen.version = client.getNegotiatedProtocolVersion?.();
seen.tools = (await client.listTools()).tools.length;
seen.echo = (await client.callTool({ name: 'test_echo', arguments: { text: 'é\u0001"' } }))
	.structuredContent;
await call('test_tool_with_progress', {}, { onprogress: (p) => seen.progress.push(p.progress) });
// Questions: the client answers and repeats by itself.
seen.hello = await call('test_input_required_result_elicitation');
seen.rounds = await call('test_input_required_result_multi_round');
seen.several = await call('test_input_required_result_multiple_inputs');
seen.header = await call('test_custom_header', { region: 'Zürich', zone: 7 });
seen.resource = (await client.readResource({ uri: 'test://static-text' })).contents[0].text;
seen.unknown = await call('no_such_tool').then(() => 'accepted', (e) => e.code);

const controller = new AbortController();
const cancelled = call('test_slow', { ms: 20000 }, { signal: controller.signal })
	.then(() => 'answered', () => 'cancelled');
setTimeout(() => controller.abort(), 200);
seen.abort = await cancelled;
await new Promise((done) => setTimeout(done, 300));
seen.cancelled = (await client.callTool({ name: 'test_echo', arguments: {} }))
	.structuredContent.cancelled;
await client.close();
console.log(JSON.stringify(seen));
