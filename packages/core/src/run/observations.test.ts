import { describe, expect, it } from 'vitest';
import type { Label } from '../model/types.js';
import type { Refusal } from '../state/events.js';
import { abortedEnd, coreLabel, deniedEnd, errorEnd, laterHandoffEnd, limitEnd, unknownEnd, withheldEnd } from './observations.js';

const refusal: Refusal = { action: 'deny', surface: 'toolInput', by: 'caps', reason: 'The amount is too high.' };

const words = (status: string, errorClass: string, summary: string) => ({
  status,
  content: JSON.stringify({ status, error_class: errorClass, summary, retryable: false }),
  errorClass,
  retryable: false,
  label: { origin: 'developer', integrity: 'trusted' },
});

describe('errorEnd', () => {
  it('says status, class, summary and whether to try again, in the words of core', () => {
    expect(errorEnd({ status: 'error', errorClass: 'failed', summary: 'It failed.' })).toEqual(words('error', 'failed', 'It failed.'));
    expect(errorEnd({ status: 'error', errorClass: 'failed', summary: 'It failed.' })).not.toHaveProperty('refusal');
  });

  it('keeps the label, the refusal and the permission to try again that it is given', () => {
    const label: Label = { origin: 'tool:look', integrity: 'untrusted' };
    expect(errorEnd({ status: 'unknown', errorClass: 'timeout', summary: 'Late.', retryable: true, label, refusal })).toEqual({
      status: 'unknown',
      content: '{"status":"unknown","error_class":"timeout","summary":"Late.","retryable":true}',
      errorClass: 'timeout',
      retryable: true,
      label,
      refusal,
    });
  });

  it('is frozen, as the label of core is', () => {
    expect(Object.isFrozen(errorEnd({ status: 'error', errorClass: 'failed', summary: '' }))).toBe(true);
    expect(coreLabel).toEqual({ origin: 'developer', integrity: 'trusted' });
    expect(Object.isFrozen(coreLabel)).toBe(true);
  });
});

describe('what the model is told of a call', () => {
  it('that was denied: the reason of the guardrail', () => {
    expect(deniedEnd(refusal)).toEqual({ ...words('denied', 'denied', 'The amount is too high.'), refusal });
  });

  it('that was never started', () => {
    expect(abortedEnd()).toEqual(words('aborted', 'aborted', 'The run was stopped before this call was started.'));
    expect(abortedEnd('No room.')).toEqual(words('aborted', 'aborted', 'No room.'));
    expect(laterHandoffEnd()).toEqual(
      words('aborted', 'aborted', 'Only the first handoff of an answer is tried, and this was a later one.'),
    );
    expect(limitEnd('toolCalls')).toEqual(
      words('aborted', 'aborted', 'This call was not started: the limit toolCalls of the run is reached.'),
    );
  });

  it('whose result was withheld: that it ran, and why', () => {
    expect(withheldEnd('look', refusal)).toEqual({
      ...words('error', 'denied', 'look ran; its result was withheld: The amount is too high.'),
      refusal,
    });
  });

  it('whose outcome nobody saw: that it may have happened', () => {
    expect(unknownEnd('send', 'it took too long')).toEqual(
      words(
        'unknown',
        'timeout',
        'send was started, but it took too long; it may have happened. Do not call it again before you have looked.',
      ),
    );
  });
});
