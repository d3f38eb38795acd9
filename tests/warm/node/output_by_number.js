// Blocks when the pipe is full, as long as process.stdout has not been used.
const text = 'x'.repeat(99) + '\n';
for (let i = 0; i < 4000; i++) {
	require('fs').writeSync(1, text);
}
require('fs').writeFileSync('/dev/stdout', text.repeat(2000));
