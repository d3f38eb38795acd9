const zlib = require('zlib');
const { pipeline, Readable } = require('stream');
const parts = [];
pipeline(Readable.from(['a'.repeat(1e5), 'b']), zlib.createGzip(), zlib.createGunzip(),
	async function (source) { for await (const part of source) { parts.push(part); } },
	(error) => console.log(error, Buffer.concat(parts).length));
const url = new URL('http://user@example.org:81/a?b=c#d');
console.log(url, structuredClone(new Map([[1, [2]]])), new TextDecoder().decode(new Uint8Array([104, 105])));
console.log(require('util').inspect(new Proxy({}, {}), { showProxy: true }), 'ß'.normalize('NFD').length);
