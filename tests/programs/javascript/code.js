// Files, worker threads, a child of its own, compression, hashes, streams and timers.
"use strict";
const fs = require("fs");
const os = require("os");
const path = require("path");
const zlib = require("zlib");
const crypto = require("crypto");
const { execFileSync, execSync } = require("child_process");
const { Worker, isMainThread, parentPort, workerData } = require("worker_threads");
const { pipeline } = require("stream/promises");

function primes(from, to) {
	let count = 0;
	outer: for (let n = Math.max(2, from); n < to; n++) {
		for (let d = 2; d * d <= n; d++) {
			if (n % d === 0) {
				continue outer;
			}
		}
		count++;
	}
	return count;
}

function inWorker(range) {
	return new Promise((resolve, reject) => {
		const worker = new Worker(__filename, { workerData: range });
		worker.on("message", resolve);
		worker.on("error", reject);
	});
}

async function main() {
	const folder = fs.mkdtempSync(path.join(os.tmpdir(), "sample-"));
	const plain = path.join(folder, "numbers.txt");
	fs.writeFileSync(plain, Array.from({ length: 1000 }, (_, i) => i).join("\n"));
	await pipeline(fs.createReadStream(plain), zlib.createGzip(),
		fs.createWriteStream(plain + ".gz"));
	const back = zlib.gunzipSync(fs.readFileSync(plain + ".gz"));
	console.log("zlib", back.length, crypto.createHash("sha256").update(back).digest("hex").slice(0, 16));

	const counts = await Promise.all([[0, 10000], [10000, 20000]].map(inWorker));
	console.log("workers", counts);

	console.log("child", execFileSync(process.execPath, ["-p", "21 * 2"]).toString().trim());
	console.log("shell", execSync("echo from sh").toString().trim());

	const keys = crypto.scryptSync("password", "salt", 16, { N: 1024 }).toString("hex");
	console.log("scrypt", keys);
	console.log("intl", new Intl.NumberFormat("de-DE").format(1234567.5));
	console.log("date", new Date(Date.UTC(2024, 0, 31)).toISOString());
	fs.mkdirSync("out", { recursive: true });
	fs.writeFileSync("out/report.json", JSON.stringify({ counts }));
	console.log("file", fs.readFileSync("out/report.json", "utf8"));
	await new Promise((resolve) => setTimeout(resolve, 5));
	fs.rmSync(folder, { recursive: true });
	console.log("done");
}

if (isMainThread) {
	main();
} else {
	parentPort.postMessage(primes(...workerData));
}
