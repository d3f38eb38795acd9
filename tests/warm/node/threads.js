const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
if (isMainThread) {
	const worker = new Worker(__filename, { workerData: 20, argv: ['x'] });
	worker.on('message', (message) => console.log(message));
	worker.on('exit', (code) => console.log('exit', code));
} else {
	const { execArgv, argv, env, _preload_modules } = process;
	parentPort.postMessage([workerData * 2, execArgv, argv, env.HOME, Object.keys(require.cache),
		_preload_modules, require.main === module]);
}
