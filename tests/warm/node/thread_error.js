// Only the nearest frames: Node.js may report the error in either of two ways.
Error.stackTraceLimit = 3;
const { Worker } = require('worker_threads');
new Worker('throw new Error("in a thread")', { eval: true });
