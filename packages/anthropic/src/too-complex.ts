import type { ModelRequest } from '@guardloop/core/model';

/** As many sets of tools as a process is likely to have. */
const mostKnown = 200;
/**
 * The API compiles all strict schemas of a request into one grammar and refuses one that is too large, within its stated limits too
 * (anthropics/anthropic-sdk-python#1185, genkit-ai/genkit#5230).
 */
const words = /compiled grammar|grammar compilation|too complex/i;

/** True for the API's refusal of strict schemas that are too much for it. */
export function isTooComplex(error: unknown): boolean {
  const { status, message } = (typeof error === 'object' && error !== null ? error : {}) as {
    readonly status?: unknown;
    readonly message?: unknown;
  };
  return status === 400 && typeof message === 'string' && words.test(message);
}

/** The sets of tools and answers that were too complex for the API, of one model. */
export class TooComplex {
  readonly #known = new Map<string, { isTold: boolean }>();

  add(request: ModelRequest): void {
    if (this.#known.size >= mostKnown) this.#known.clear();
    this.#known.set(keyOf(request), { isTold: false });
  }

  has(request: ModelRequest): boolean {
    return this.#known.size > 0 && this.#known.has(keyOf(request));
  }

  /** In a sentence, once for each set. */
  takeWarning(request: ModelRequest): string | undefined {
    const known = this.#known.get(keyOf(request));
    if (known === undefined || known.isTold) return undefined;
    known.isTold = true;
    return `The tools and the answer of agent ${request.agent} go without strict schemas: Anthropic found them too complex together. Set strict: false on tools with many optional fields, or strictTools: false on the model.`;
  }
}

function keyOf({ agent, tools, output }: ModelRequest): string {
  return JSON.stringify([agent, output?.name, ...tools.map(({ name }) => name)]);
}
