process.exitCode = 3;
process.on('beforeExit', (code) => console.log('before', code));
process.on('exit', (code) => { console.log('exit', code); process.exitCode = 4; });
console.log(process.listenerCount('exit'), process.listenerCount('beforeExit'));
