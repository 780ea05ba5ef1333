import { expect, it } from 'vitest';
import { cutAnywhere, endWith, exploreOrders, seededScheduler } from './index.js';
import { checkMessagesRequest } from './requests/anthropic.js';

const property = async (): Promise<void> => undefined;
const resumeAt = async (): Promise<never> => {
  throw new Error('never asked');
};

it.each([
  {
    name: 'cutAnywhere',
    call: (options: never) => cutAnywhere({ version: 1, events: [] }, resumeAt, options),
    given: 'form',
    hint: 'from',
  },
  { name: 'seededScheduler', call: seededScheduler, given: 'sed', hint: 'seed' },
  { name: 'exploreOrders', call: (options: never) => exploreOrders(options, property), given: 'order', hint: 'orders' },
  { name: 'endWith', call: endWith, given: 'stop', hint: undefined },
  { name: 'checkMessagesRequest', call: (options: never) => checkMessagesRequest({}, options), given: 'version', hint: undefined },
])('$name refuses an option that it does not have', async ({ name, call, given, hint }) => {
  const meant = hint === undefined ? '' : `Did you mean ${hint}? `;
  await expect((async () => call({ [given]: 5 } as never))()).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining(`${name}(…): there is no option ${given}. ${meant}The options are `),
  });
});

it.each([{}, { orders: 0 }, { orders: 1.5 }])('no property is held to hold in no order: %j', async (options) => {
  await expect(exploreOrders(options as never, property)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});
