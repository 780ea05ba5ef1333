export { type Evidence, type EvidenceInfo, evidence } from './evidence.js';
export { type PrintOptions, printSteps } from './print-steps.js';
export { type ReactOptions, react, reactContract } from './react.js';
export { checkInvariant, type Step, type StepAction, type StepObservation, type StepStatus, type StepThought, steps } from './steps.js';
export { type StuckOptions, type StuckSign, stuck } from './stuck.js';
export { readTextStep, type TextStep } from './text-form.js';
export { type TextReactOptions, textContract, textReact } from './text-react.js';
