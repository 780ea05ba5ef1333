import { recordOf } from '@guardloop/core/model';

type Fields = Record<string, unknown>;

/**
 * The error that a server put into a stream of status 200, in any of the forms that are in use: `{ error }` (an object, a text, or a list of
 * them), an event named `error`, `{ object: 'error' }`, `{ type: 'error' }`, an error in the choice, and, where there are no choices,
 * `{ detail }`, `{ errors }`, `{ message }` and a `base_resp` that is not 0. Undefined where there is none.
 */
export function errorIn(chunk: unknown, event: string): unknown {
  const fields = recordOf(Array.isArray(chunk) ? chunk[0] : chunk);
  if (fields === undefined) return event === 'error' ? {} : undefined;
  if (isGiven(fields.error)) return Array.isArray(fields.error) ? fields.error[0] : fields.error;
  if (event === 'error' || fields.object === 'error' || fields.type === 'error') return fields;
  const status = recordOf(fields.base_resp)?.status_code;
  if (typeof status === 'number' && status !== 0) return { code: status };
  if (!Array.isArray(fields.choices)) return bareError(fields);
  for (const choice of fields.choices as readonly unknown[]) {
    const error = recordOf(choice)?.error;
    if (isGiven(error)) return error;
  }
  return undefined;
}

function bareError(fields: Fields): unknown {
  if (isGiven(fields.detail)) return { ...fields, ...recordOf(fields.detail) };
  if (Array.isArray(fields.errors) && fields.errors.length > 0) return recordOf(fields.errors[0]) ?? {};
  return typeof fields.message === 'string' || typeof fields.error_msg === 'string' ? fields : undefined;
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false && value !== '';
}
