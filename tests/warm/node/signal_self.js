process.on('SIGUSR2', (name, number) => {
	console.log(name, number);
	process.kill(process.pid, 'SIGTERM');
});
process.kill(process.pid, 'SIGUSR2');
setTimeout(() => {}, 10000);
