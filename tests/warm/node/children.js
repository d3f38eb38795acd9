const { execFileSync, fork, spawn, spawnSync } = require('child_process');
if (process.send) {
	process.send([process.argv.slice(2), process.execArgv, process.env.NODE_CHANNEL_FD]);
	process.disconnect();
} else {
	console.log(execFileSync(process.execPath, ['-p', '6 * 7; process.execArgv'], { encoding: 'utf8' }));
	fork(__filename, ['child']).on('message', (message) => {
		console.log(message);
		spawn('sh', ['-c', 'cat; exit 3']).on('exit', (code) => console.log('exit', code)).stdin.end();
	});
	// More than the pipe holds: it must still block.
	const code = 'for (let i = 0; i < 3000; i++) require("fs").writeSync(1, "x".repeat(99) + "\\n")';
	console.log(spawnSync(process.execPath, ['-e', code], { stdio: 'inherit' }).status);
}
