export { type Authenticate, type Authorize, type AuthorizeQuestion, anonymous, type Caller } from './caller.js';
export type { OfferedAgent, RateQuestion, ServerOptions } from './options.js';
export type { ProblemBody } from './problem.js';
export type { RunsService } from './runs-service.js';
export { guardloopServer } from './server.js';
export type { Show } from './show.js';
export type { ApprovalView, ClientEvent, OutcomeView, RunView, SessionView, WaitingAnswerView } from './views.js';
