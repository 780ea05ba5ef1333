import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changesBetween, shortDigest } from './definitions.js';
import type { Definitions, Manifest } from './events.js';

const guard = { name: 'limits', surfaces: ['toolInput'], phases: ['check'] } as const;
const definitions: Definitions = { name: 'desk', agent: 'a1', tools: { refund: 'e1.s1', look: 'e2.s2' } };
const manifest: Manifest = { run: [], agent: [guard], tools: { refund: [guard] }, definitions };
const withDefinitions = (changed: Partial<Definitions>): Manifest => ({ ...manifest, definitions: { ...definitions, ...changed } });

describe('changes between two manifests', () => {
  it('are none where nothing changed', () => {
    expect(changesBetween(manifest, structuredClone(manifest))).toEqual([]);
  });

  it('are none that an older log does not tell of', () => {
    const { definitions: _, ...older } = manifest;
    expect(changesBetween(older, manifest)).toEqual([]);
    expect(changesBetween(manifest, older)).toEqual([]);
  });

  it.each([
    ['the agent, by what it is told', { agent: 'a2' }, [{ kind: 'agent', name: 'desk', how: 'changed' }]],
    ['the agent, by its name', { name: 'till' }, [{ kind: 'agent', name: 'desk', how: 'gone' }]],
    ['a tool that is gone', { tools: { refund: 'e1.s1' } }, [{ kind: 'tool', name: 'look', how: 'gone' }]],
    ['a tool that is new', { tools: { ...definitions.tools, pay: 'e.s' } }, [{ kind: 'tool', name: 'pay', how: 'new' }]],
    ['a schema', { tools: { ...definitions.tools, refund: 'e1.s9' } }, [{ kind: 'tool', name: 'refund', how: 'changed' }]],
    ['an effect', { tools: { ...definitions.tools, refund: 'e9.s1' } }, [{ kind: 'tool', name: 'refund', how: 'effect' }]],
    ['a tool that is named like a field of every object', { tools: { look: 'e2.s2' } }, [{ kind: 'tool', name: 'refund', how: 'gone' }]],
  ] as const)('tell %s', (_, changed, changes) => {
    expect(changesBetween(manifest, withDefinitions(changed))).toEqual(changes);
  });

  it('know nothing of what every object has', () => {
    const odd = withDefinitions({ tools: { ...definitions.tools, toString: 'e.s' } });
    expect(changesBetween(manifest, odd)).toEqual([{ kind: 'tool', name: 'toString', how: 'new' }]);
    expect(changesBetween(odd, manifest)).toEqual([{ kind: 'tool', name: 'toString', how: 'gone' }]);
  });

  it('tell guardrails by where they stand', () => {
    const other: Manifest = { run: [{ ...guard, name: 'all' }], agent: [{ ...guard, version: '2' }], tools: {}, definitions };
    expect(changesBetween(manifest, other)).toEqual([
      { kind: 'guardrail', name: 'agent limits', how: 'changed' },
      { kind: 'guardrail', name: 'tool refund limits', how: 'gone' },
      { kind: 'guardrail', name: 'run all', how: 'new' },
    ]);
  });
});

describe('a short digest', () => {
  it('is sixteen hexadecimal digits, the same for the same text in every process', () => {
    expect(shortDigest('')).toBe('811c9dc501000193');
    expect(shortDigest('refund')).toMatch(/^[0-9a-f]{16}$/);
    expect(shortDigest('refund')).toBe(shortDigest(['re', 'fund'].join('')));
  });

  it('differs for every two texts of a sample', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ maxLength: 40, unit: 'binary' }), { minLength: 2, maxLength: 200 }), (texts) => {
        expect(new Set(texts.map(shortDigest)).size).toBe(texts.length);
      }),
      { numRuns: 100, seed: 11 },
    );
  });
});
