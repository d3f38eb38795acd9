const up = process.uptime();
const now = performance.now();
console.log(up > 0 && up < 60, now > 0 && now < 60000, Math.abs(now / 1000 - up) < 1);
console.log(Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 1000);
console.log(process.hrtime()[0] < 3600, typeof process.hrtime.bigint());
console.log(performance.now.name, performance.now.length, process.uptime.name, process.uptime.length);
console.log(Object.getOwnPropertyDescriptor(Performance.prototype, 'timeOrigin').set);
performance.mark('a');
console.log(performance.measure('m', 'a').duration < 1000, performance.now() >= now);
try {
	Performance.prototype.now.call({});
} catch (error) {
	console.log(error.name, error.message);
}
