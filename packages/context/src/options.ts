import { GuardloopError } from '@guardloop/core';

/** Refuses with CONFIG_INVALID what is no whole number from `least` on. */
export function checkWhole(name: string, value: unknown, least = 0): void {
  if (!Number.isSafeInteger(value) || (value as number) < least)
    throw new GuardloopError('CONFIG_INVALID', `${name} is no whole number from ${least} on. Give one.`);
}

/** Refuses with CONFIG_INVALID what is no model. `where` begins the message. */
export function checkModel(where: string, given: unknown): void {
  const { id, stream } = (typeof given === 'object' && given !== null ? given : {}) as { readonly id?: unknown; readonly stream?: unknown };
  if (typeof id !== 'string' || typeof stream !== 'function')
    throw new GuardloopError('CONFIG_INVALID', `${where} is no model. Give one as to an agent: what an adapter makes, not its name.`);
}

/** Refuses with CONFIG_INVALID what is neither left out nor of this type. */
export function checkType(name: string, value: unknown, type: 'string' | 'function' | 'object'): void {
  const isFitting = type === 'object' ? typeof value === 'object' && value !== null && !Array.isArray(value) : typeof value === type;
  if (value !== undefined && !isFitting)
    throw new GuardloopError(
      'CONFIG_INVALID',
      `${name} is no ${{ string: 'text', function: 'function', object: 'object' }[type]}. Give one, or leave it out.`,
    );
}
