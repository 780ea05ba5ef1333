export { type DropObservationsOptions, dropObservations } from './drop-observations.js';
export { type LastTurnsOptions, lastTurns } from './last-turns.js';
export { type SummariseOptions, summarise } from './summarise.js';
export { type TokenBudgetOptions, tokenBudget } from './token-budget.js';
export { views } from './views.js';
