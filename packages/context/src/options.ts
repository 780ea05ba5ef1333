import { GuardloopError } from '@guardloop/core';

/** Refuses with CONFIG_INVALID what is no whole number from `least` on. */
export function checkWhole(name: string, value: unknown, least = 0): void {
  if (!Number.isSafeInteger(value) || (value as number) < least)
    throw new GuardloopError('CONFIG_INVALID', `${name} is no whole number from ${least} on. Give one.`);
}
