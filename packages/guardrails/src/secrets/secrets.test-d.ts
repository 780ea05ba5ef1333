import type { Guardrail } from '@guardloop/core';
import { expectTypeOf } from 'vitest';
import { fromGitleaks } from './gitleaks.js';
import { secrets } from './secrets.js';

expectTypeOf(secrets()).toExtend<Guardrail<unknown>>();
expectTypeOf(secrets({ on: ['input', 'output'] })).toEqualTypeOf<Guardrail<unknown, 'input' | 'output'>>();
secrets({ kinds: ['github-token', 'cloud'], without: ['generic'], gitleaks: fromGitleaks(''), then: { output: 'deny' } });

// @ts-expect-error: no kind and no group
secrets({ kinds: ['github-tokens'] });
// @ts-expect-error: a rule has an id
secrets({ rules: [{ pattern: /a/ }] });
// @ts-expect-error: the text of a file is read first
secrets({ gitleaks: '[[rules]]' });
// @ts-expect-error: it does not stand on the input
secrets({ on: ['output'], then: { input: 'deny' } });
