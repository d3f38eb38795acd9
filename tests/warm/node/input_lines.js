// stdin: "3\n10 20 30\nlast"
const lines = require('readline').createInterface({ input: process.stdin });
const seen = [];
lines.on('line', (line) => seen.push(line.split(' ')));
lines.on('close', () => console.log(seen, process.stdin.isTTY, process.stdout.isTTY));
