import { z } from 'zod';

const form = /^\[[A-Z][A-Z0-9_]{1,61}\]$/;

/**
 * A schema of a tool's argument that takes what the given one takes, or a placeholder: for arguments that a vault restores, and whose form is
 * checked (`z.email()`). Whether the value behind a placeholder fits is a matter of its kind: give `restore` the kinds that the field takes.
 */
export function orPlaceholder<S extends z.ZodType<string, string>>(schema: S): z.ZodUnion<readonly [S, z.ZodString]> {
  return z.union([schema, z.string().regex(form)]);
}
