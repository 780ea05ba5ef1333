import { GuardloopError } from '../errors.js';
import type { Usage } from '../model/types.js';
import type { ModelShare } from '../model/usage.js';
import { addUsage } from '../model/usage.js';

/** What a view or a projection says that a model took. `owner`: for messages, the words before `does not fit`. Throws CONFIG_INVALID. */
export function readShare(used: unknown, owner: string): ModelShare {
  const { model, usage } = (typeof used === 'object' && used !== null ? used : {}) as { model?: unknown; usage?: Partial<Usage> };
  if (typeof model !== 'string' || !Number.isFinite(usage?.requests))
    throw new GuardloopError(
      'CONFIG_INVALID',
      `${owner} does not fit. Give { model, usage }, with the usage from the end of that model’s answer.`,
    );
  return { model, usage: addUsage({ requests: 0 }, usage as Usage) };
}
