import { expect, it } from 'vitest';
import { enterRun, recordAnswer, recordedCall } from '../../test/enter-run.js';
import type { Label } from '../model/types.js';
import type { CallState } from '../state/state.js';
import { callLabel } from './call-label.js';

const label: Label = { origin: 'agent:a', integrity: 'trusted' };
const unknown: Label = { origin: 'agent:a', integrity: 'untrusted' };

async function answered() {
  const { handle } = await enterRun();
  recordAnswer(handle, [recordedCall('look'), recordedCall('look', { id: '1.1' })], label);
  const [first, second] = [...handle.state.calls.values()] as [CallState, CallState];
  return { handle, first, second };
}

it('labels the input of a call as the answer that made it', async () => {
  const { handle, first, second } = await answered();
  expect(callLabel(handle, first)).toEqual(label);
  expect(callLabel(handle, second)).toEqual(label);
});

it('takes the input of a call for untrusted that the open answer did not make', async () => {
  const { handle, first } = await answered();
  const other: CallState = { ...first, call: recordedCall('look', { id: '1.2' }) };
  expect(callLabel(handle, other)).toEqual(unknown);
});

it('takes it for untrusted where no answer is open, or a message that is none', async () => {
  const { handle, first } = await answered();
  handle.state.openIndex = 0;
  expect(handle.state.conversation.messages[0]?.role).toBe('user');
  expect(callLabel(handle, first)).toEqual(unknown);
  handle.state.openIndex = -1;
  expect(callLabel(handle, first)).toEqual(unknown);
});
