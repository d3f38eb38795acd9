// Only the nearest frames: which of two ways the news of the error takes is up to Node.js.
Error.stackTraceLimit = 3;
const { Worker } = require('worker_threads');
new Worker('throw new Error("in a thread")', { eval: true });
