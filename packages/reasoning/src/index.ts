export { type ReactOptions, react, reactContract } from './react.js';
