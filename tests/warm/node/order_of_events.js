const { AsyncResource, executionAsyncId, triggerAsyncId } = require('async_hooks');
console.log(executionAsyncId(), triggerAsyncId(), new AsyncResource('it').asyncId());
setTimeout(() => console.log('timer'), 100);
setImmediate(() => { console.log('immediate'); process.nextTick(() => console.log('tick in it')); });
process.nextTick(() => console.log('tick'));
Promise.resolve().then(() => console.log('promise'));
queueMicrotask(() => console.log('microtask'));
require('fs').stat('/', () => {});
console.log('main', process.getActiveResourcesInfo(), process._getActiveHandles().length);
