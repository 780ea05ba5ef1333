import { describe, expect, it } from 'vitest';
import type { AssistantMessage, ToolMessage } from '../model/types.js';
import { OpenCalls } from './open-calls.js';

const label = { origin: 'agent:a', integrity: 'untrusted' } as const;
const answer = (id: string, ...calls: readonly string[]): AssistantMessage => ({
  role: 'assistant',
  id,
  agent: 'a',
  text: '',
  calls: calls.map((call) => ({ id: call, name: 'lookup', input: {} })),
  label,
});
const result = (id: string, callId: string): ToolMessage => ({
  role: 'tool',
  id,
  callId,
  tool: 'lookup',
  content: '',
  isError: false,
  label,
});

describe('open calls', () => {
  it('are answered in any order, each at its place', () => {
    const calls = new OpenCalls();
    calls.open(answer('a1', '1.0', '1.1'));
    expect(calls.answer(result('t1', '1.1'))).toBe(1);
    expect(calls.areWaiting).toBe(true);
    expect(calls.answer(result('t2', '1.0'))).toBe(0);
    expect(calls.areWaiting).toBe(false);
    calls.close();
  });

  it('with one id are answered one after another', () => {
    const calls = new OpenCalls();
    calls.open(answer('a1', '1.0', '1.0'));
    expect([calls.answer(result('t1', '1.0')), calls.answer(result('t2', '1.0'))]).toEqual([0, 1]);
  });

  it('of one turn are not answered in another, though the id is the same', () => {
    const calls = new OpenCalls();
    calls.open(answer('a1', '1.0'));
    calls.answer(result('t1', '1.0'));
    calls.open(answer('a2', '1.0'));
    expect(calls.areWaiting).toBe(true);
    expect(calls.answer(result('t2', '1.0'))).toBe(0);
    calls.close();
    expect(() => calls.answer(result('t3', '1.0'))).toThrow('t3');
  });

  it('without a result are named, with their message, at the next message and at the end', () => {
    const calls = new OpenCalls();
    calls.open(answer('a1', '1.0', '1.1'));
    calls.answer(result('t1', '1.0'));
    for (const end of [() => calls.close(), () => calls.open(answer('a2'))])
      expect(end).toThrow(
        expect.objectContaining({ code: 'INTERNAL', message: expect.stringMatching(/Call 1\.1 .*message a1/) as string }),
      );
  });

  it('that are not there are not answered: a result without a call, and a second result, are named', () => {
    const calls = new OpenCalls();
    calls.open(answer('a1', '1.0'));
    calls.answer(result('t0', '1.0'));
    for (const [id, callId, message] of [
      ['t1', '9.9', /t1 .* answers call 9\.9/],
      ['t1', '1.0', /t1 .* second result of call 1\.0/],
    ] as const)
      expect(() => calls.answer(result(id, callId))).toThrow(
        expect.objectContaining({ code: 'INTERNAL', message: expect.stringMatching(message) as string }),
      );
  });
});
