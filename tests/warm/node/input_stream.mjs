// stdin: "some\nbytes"
process.stdin.setEncoding('utf8');
for await (const chunk of process.stdin) {
	console.log([chunk]);
}
