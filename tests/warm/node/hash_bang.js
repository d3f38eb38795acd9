#!/usr/bin/env node
console.log('after a line');
throw new Error('on line 3');
