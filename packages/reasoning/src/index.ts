export { type ReactOptions, react, reactContract } from './react.js';
export { readTextStep, type TextStep } from './text-form.js';
export { type TextReactOptions, textContract, textReact } from './text-react.js';
