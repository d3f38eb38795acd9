// args: ["a"]
import fs, { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
console.log(import.meta.url, import.meta.dirname, import.meta.filename, process.argv);
console.log(readdirSync('.'), typeof require, this, fs.existsSync('/sandbox'));
const { join } = createRequire(import.meta.url)('path');
console.log(join('a', 'b'), await Promise.resolve(5), import.meta.resolve('node:fs'));
console.log(new Error('x').stack, (await import('node:os')).EOL);
