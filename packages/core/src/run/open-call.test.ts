import { describe, expect, it } from 'vitest';
import type { Turn } from '../../test/scene.js';
import { agentOf, answered, calls, eventsOf, lastEvent, openCall, scripted, tool } from '../../test/scene.js';
import type { LogEvent } from '../state/events.js';
import type { ToolEnd } from './open-call.js';
import { endCall } from './open-call.js';
import { run } from './run.js';

const label = { origin: 'tool:look', integrity: 'trusted' } as const;
const done: ToolEnd = { status: 'ok', content: 'Seen.', label, revision: 1, chars: 5 };
const look = tool('look', () => 'Seen.');

const looking = (turn: Turn, limits: object = {}) => answered(agentOf({ model: scripted(turn), tools: [look] }), { limits });

/** A run whose model makes the same call as long as it may. */
const repeating = (more: object, limits: object) => {
  const model = scripted(...Array.from({ length: 9 }, () => [calls('look', { at: 'sky' })]));
  return run(agentOf({ model, tools: [tool('look', () => 'Blue.', more)] }), 'hello', { limits });
};
const notesOf = ({ events }: { readonly events: readonly LogEvent[] }) => eventsOf({ events }, 'tool.end').map(({ note }) => note);

describe('the end of a call', () => {
  it('is recorded under the call, its tool and its path', async () => {
    const handle = await looking([calls('look')]);
    const { seq } = handle.root.log;
    endCall(openCall(handle), done);
    expect(lastEvent(handle)).toEqual({
      type: 'tool.end',
      seq: seq + 1,
      at: expect.any(Number),
      run: 'r1',
      agent: 'desk',
      callId: '1.0',
      tool: 'look',
      id: 'r1/1.0',
      status: 'ok',
      content: 'Seen.',
      label,
      revision: 1,
      chars: 5,
      completeness: 'full',
    });
    expect(handle.stop).toBeUndefined();
  });

  it('keeps what else is known of it', async () => {
    const handle = await looking([calls('look')]);
    const more = { note: 'It was cut.', details: { rows: 3 }, structured: true, projection: 'core', errorClass: 'failed' } as const;
    endCall(openCall(handle), { ...done, ...more });
    expect(lastEvent(handle)).toMatchObject(more);
  });

  it('stops the run when it settles how the run ends', async () => {
    const handle = await looking([calls('look')]);
    const refusal = { action: 'halt', surface: 'toolOutput', by: 'judge', reason: 'orders' } as const;
    endCall(openCall(handle), { ...done, status: 'error', refusal });
    expect(handle.stop).toEqual({ kind: 'halt' });
  });
});

describe('a call that repeats itself', () => {
  it('is told so from the limit on, and ends the run at twice that', async () => {
    const result = await repeating({}, { repeats: 2, turns: 9 });
    const notice = (count: number) =>
      `This is call ${count} with the same input and the same result. Do something else; the run ends at 4.`;
    expect(notesOf(result)).toEqual([undefined, notice(2), notice(3), notice(4)]);
    expect(result).toMatchObject({ status: 'exhausted', limit: 'repeats' });
  });

  it('is left alone where its tool polls, which the log tells', async () => {
    const result = await repeating({ polling: true }, { repeats: 1, turns: 5 });
    expect(notesOf(result)).toEqual([undefined, undefined, undefined, undefined, undefined]);
    expect(eventsOf(result, 'tool.end').map(({ polling }) => polling)).toEqual([true, true, true, true, true]);
    expect(result).toMatchObject({ status: 'exhausted', limit: 'turns' });
  });

  it('says nothing of polling where its tool does not', async () => {
    const handle = await looking([calls('look')]);
    endCall(openCall(handle), done);
    expect(lastEvent(handle)).not.toHaveProperty('polling');
  });

  it('has the notice behind what was noted of the result', async () => {
    const handle = await looking([calls('look')], { repeats: 1 });
    endCall(openCall(handle), { ...done, note: 'It was cut.' });
    expect(lastEvent(handle)).toMatchObject({
      note: 'It was cut. This is call 1 with the same input and the same result. Do something else; the run ends at 2.',
    });
  });

  it.each([
    ['was never started', { status: 'aborted' }],
    ['shares the end of another', { copyOf: '1.1' }],
  ] as const)('is not counted when it %s', async (_what, more) => {
    const handle = await looking([calls('look')], { repeats: 1 });
    endCall(openCall(handle), { ...done, ...more });
    expect(lastEvent(handle)).not.toHaveProperty('note');
  });

  it('is counted where no tool is known of it', async () => {
    const handle = await looking([calls('look')], { repeats: 1 });
    const { call } = openCall(handle);
    endCall({ handle, call }, done);
    expect(lastEvent(handle)).toHaveProperty('note');
  });
});
