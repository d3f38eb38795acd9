const { heap_size_limit } = require('v8').getHeapStatistics();
console.log(heap_size_limit, process.constrainedMemory() > 0, require('os').totalmem());
console.log(require('os').cpus().length, require('os').availableParallelism());
