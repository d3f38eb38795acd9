#!/usr/bin/node
console.log("after a mark", __filename);
