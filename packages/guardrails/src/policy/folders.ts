import type { Place } from './fault.js';
import { at, fault, listAt, told } from './fault.js';
import type { Truth } from './truth.js';

/** The steps of an absolute path, with `.`, `..` and doubled slashes resolved. Undefined: it is none that every system reads alike. */
function stepsOf(path: string): readonly string[] | undefined {
  // A backslash parts folders on one system and is a letter on another; an encoded step is resolved by some readers only.
  if (!path.startsWith('/') || path.includes('\\') || path.includes('\u0000') || path.includes('%')) return undefined;
  const steps: string[] = [];
  for (const step of path.split('/')) {
    if (step === '' || step === '.') continue;
    if (step === '..') steps.pop();
    else steps.push(step);
  }
  return steps;
}

/** Throws CONFIG_INVALID. */
export function readFolders(given: unknown, place: Place): readonly string[] {
  const list = typeof given === 'string' ? [given] : listAt(given, place);
  for (const [index, each] of list.entries()) {
    if (typeof each !== 'string' || stepsOf(each) === undefined)
      fault(
        typeof given === 'string' ? place : at(place, index),
        `${told(each)} is no absolute path with plain slashes, such as /srv/files.`,
      );
  }
  return list as readonly string[];
}

/** Whether an absolute path is one of the folders or stands in one. Another text that may be a path by some reading decides nothing. */
export function isInside(value: unknown, folders: readonly string[]): Truth {
  const steps = typeof value === 'string' ? stepsOf(value) : undefined;
  if (steps === undefined) return undefined;
  return folders.some((folder) => {
    const own = stepsOf(folder);
    return own?.every((step, index) => step === steps[index]);
  });
}
