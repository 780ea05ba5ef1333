import type { Attributes } from '@opentelemetry/api';
import { own } from './names.js';

/** Who refused, and where; never why. */
export function refusalOf(refusal: { readonly by: string; readonly surface: string } | undefined): Attributes {
  return refusal === undefined ? {} : { [own.refusedBy]: refusal.by, [own.refusedOn]: refusal.surface };
}
