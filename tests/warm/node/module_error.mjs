import { nothing } from './not_there.mjs';
console.log(nothing);
