import type { Log } from '@guardloop/core';
import type { Step, StepAction } from './steps.js';
import { steps } from './steps.js';

/** Options of {@link printSteps}. */
export interface PrintOptions {
  /** Characters of a thought, an input or an observation that are printed. Default 300. */
  readonly maxChars?: number | undefined;
}

/**
 * The runs of a log turn by turn, as text: thought, action, observation. The slot in which a fault lies begins with `!`. Child runs stand
 * further in. Line breaks and control characters of what was said are written as escapes, so that nothing said can look like a line of ours.
 */
export function printSteps(log: Log, { maxChars = 300 }: PrintOptions = {}): string {
  const all = steps(log);
  const lines: string[] = [];
  const parents = new Map(all.map(({ run, parent }) => [run, parent]));
  let head = '';
  for (const step of all) {
    const indent = '  '.repeat(depthOf(step, parents));
    const title = `${indent}Turn ${step.turn} of ${plain(step.agent)}, run ${plain(step.run)}`;
    if (title !== head) lines.push(title);
    head = title;
    const write = (slot: string, text: string): void => {
      const isFault = step.fault?.slot === slot;
      lines.push(
        `${indent}${isFault ? '!' : ' '} ${`${slot}:`.padEnd(13)}${text}${isFault && step.fault ? `   <- ${cut(step.fault.why, maxChars)}` : ''}`,
      );
    };
    write('thought', thoughtWords(step, maxChars));
    if (step.action.kind === 'none') {
      if (step.status !== 'thought') write(step.fault?.slot === 'stop' ? 'stop' : 'action', `(${step.status})`);
      continue;
    }
    write(step.action.kind === 'stop' ? 'stop' : 'action', actionWords(step.action, maxChars));
    if (step.action.kind !== 'stop') write('observation', observationWords(step, maxChars));
    if (step.observation?.note) write('note', cut(step.observation.note, maxChars));
  }
  return lines.join('\n');
}

function depthOf({ parent }: Step, parents: ReadonlyMap<string, string | undefined>): number {
  let depth = 0;
  for (let each = parent; each !== undefined && depth < 20; each = parents.get(each)) depth += 1;
  return depth;
}

function thoughtWords({ thought, status, action }: Step, maxChars: number): string {
  const { place, text, isEarlier } = thought;
  const where = isEarlier ? `${place}, in the turn before` : place;
  if (place === 'none') return action.kind === 'none' && status !== 'thought' ? '(nothing recorded)' : '(none)';
  return text === undefined ? `(${where}, not in the log)` : `${cut(text, maxChars)} (${where})`;
}

function observationWords({ observation, status }: Step, maxChars: number): string {
  if (observation === undefined) return `(${status})`;
  const words = cut(observation.text, maxChars);
  return observation.completeness === 'partial' ? `${words} (partial)` : words;
}

function actionWords(action: Exclude<StepAction, { kind: 'none' }>, maxChars: number): string {
  if (action.kind === 'stop') return cut(action.answer, maxChars);
  if (action.kind === 'handoff') return `${plain(action.name)} -> ${plain(action.to)}`;
  return `${plain(action.name)} ${cut(JSON.stringify(action.input), maxChars)}`;
}

/** Everything that could end or hide a line, as an escape. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
const unprintable = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const plain = (text: string): string =>
  text.replace(unprintable, (character) =>
    character === '\n' ? '\\n' : `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  );

function cut(text: string, maxChars: number): string {
  const whole = [...text.slice(0, maxChars * 2)];
  if (text.length <= maxChars || whole.length <= maxChars) return plain(text);
  return `${plain(whole.slice(0, maxChars).join(''))}… (${text.length} characters)`;
}
