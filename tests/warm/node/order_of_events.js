const { AsyncResource, executionAsyncId, triggerAsyncId } = require('async_hooks');
console.log(executionAsyncId(), triggerAsyncId(), new AsyncResource('it').asyncId());
// Far away, and near once there is nothing to race with.
const far = setTimeout(() => {}, 100000);
setImmediate(() => {
	console.log('immediate');
	process.nextTick(() => console.log('tick in it'));
	clearTimeout(far);
	setTimeout(() => console.log('timer'), 1);
});
process.nextTick(() => console.log('tick'));
Promise.resolve().then(() => console.log('promise'));
queueMicrotask(() => console.log('microtask'));
require('fs').stat('/', () => {});
console.log('main', process.getActiveResourcesInfo(), process._getActiveHandles().length);
