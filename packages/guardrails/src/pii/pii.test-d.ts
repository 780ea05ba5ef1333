import type { Guardrail } from '@guardloop/core';
import { expectTypeOf } from 'vitest';
import type { PiiKindId } from './built-in.js';
import { pii, piiKinds } from './pii.js';

expectTypeOf(pii({ on: ['toolOutput'] })).toEqualTypeOf<Guardrail<unknown, 'toolOutput'>>();
expectTypeOf(piiKinds()[0]?.id).toEqualTypeOf<PiiKindId | undefined>();
expectTypeOf<'email'>().toExtend<PiiKindId>();
pii({ kinds: ['email', 'identity'], regions: ['DE'] });

// @ts-expect-error: no kind and no group
pii({ kinds: ['mail'] });
// @ts-expect-error: a list
pii({ regions: 'DE' });
