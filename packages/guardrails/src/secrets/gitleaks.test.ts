import { describe, expect, test } from 'vitest';
import { fromGitleaks } from './gitleaks.js';
import { findSecrets } from './secrets.js';

const file = `
title = "acme"

[extend]
useDefault = true

[allowlist]
description = "everywhere"
stopwords = ["sample"]

[[rules]]
id = "acme-key"
description = "Acme keys"
regex = '''(?i)\\bacme[_-](?P<kind>live|test)[_-]([a-z0-9]{16})\\b'''
secretGroup = 2
entropy = 3
keywords = ["acme"]
tags = ["acme"]
  [rules.allowlist]
  regexes = ["^0000"]
  stopwords = ["fixture"]

[[rules]]
id = "acme-pin"
regex = '''pin=(\\d{8})'''
  [[rules.allowlists]]
  condition = "AND"
  regexes = ["^1"]
  stopwords = ["99"]
  [[rules.allowlists]]
  regexTarget = "line"
  regexes = ["example"]
  [[rules.allowlists]]
  condition = "AND"
  paths = ["test/"]
  regexes = ["^5"]

[[rules]]
id = "acme-file"
path = '''\\.acme$'''

[[rules]]
id = "acme-yaml"
path = '''\\.yaml$'''
regex = '''kind: AcmeSecret'''
keywords = ["AcmeSecret"]
`;

describe('a gitleaks file', () => {
  const rules = fromGitleaks(file);
  const found = (text: string): string[] =>
    findSecrets({ kinds: ['payments'], gitleaks: rules })
      .find(text, { surface: 'input' })
      .map(({ kind, start, end }) => `${kind} ${text.slice(start, end)}`);

  test('gives its rules, and says what was left out', () => {
    expect(rules.rules.map(({ id }) => id)).toEqual(['acme-key', 'acme-pin', 'acme-yaml']);
    expect(rules.leftOut.map(({ id }) => id)).toEqual(['extend', 'acme-file', 'acme-yaml']);
  });

  test('finds the group that is the secret, near a keyword in any case', () => {
    expect(found('x ACME_live_k29dk3lfpq82ms7x y')).toEqual(['acme-key k29dk3lfpq82ms7x']);
  });

  test('keeps to entropy, allowlists of the rule and those of all rules', () => {
    expect(found('acme_live_aaaaaaaaaaaaaaaa')).toEqual([]);
    expect(found('acme_live_0000k3lfpq82ms7x')).toEqual([]);
    expect(found('acme_live_k29fixture82ms7x')).toEqual([]);
    expect(found('acme_live_k29dksample2ms7x')).toEqual([]);
  });

  test('takes the first group where none is named, and lets all of a list stand together with AND', () => {
    expect(found('pin=12345678')).toEqual(['acme-pin 12345678']);
    expect(found('pin=12345699')).toEqual([]);
    expect(found('an example: pin=12345678')).toEqual([]);
  });

  test('lets nothing pass on a path that it cannot see', () => {
    expect(found('pin=52345678')).toEqual(['acme-pin 52345678']);
  });

  test('runs a rule around its keywords, wherever they stand, and a long match is found whole', () => {
    const filler = 'lorem ipsum dolor sit amet '.repeat(400);
    expect(found(`${filler}acme_live_k29dk3lfpq82ms7x ${filler}ACME-test-zz9dk3lfpq82ms7x ${filler}`)).toEqual([
      'acme-key k29dk3lfpq82ms7x',
      'acme-key zz9dk3lfpq82ms7x',
    ]);
    const block = `-----BEGIN ACME KEY-----\n${'a1B2c3D4\n'.repeat(900)}-----END ACME KEY-----`;
    const rule = { id: 'acme-block', pattern: '-----BEGIN ACME KEY-----[\\s\\S]*?-----END ACME KEY-----', keywords: ['begin acme'] };
    const { find } = findSecrets({ kinds: ['payments'], rules: [rule] });
    expect(find(filler + block + filler, { surface: 'input' })).toEqual([
      { start: filler.length, end: filler.length + block.length, kind: 'acme-block' },
    ]);
  });

  test('without rules gives none', () => {
    expect(fromGitleaks('title = "x"')).toEqual({ rules: [], leftOut: [] });
  });

  test.each([
    ['[[rules', /the text is no TOML/],
    ['[[rules]]\nid = "a"\nregex = "a(?=b)"', /rule a: pattern cannot be used/],
    ['[[rules]]\nid = "a"\nregex = "("', /rule a: pattern cannot be used/],
    ['[[rules]]\nid = "a"', /rule a has neither a regex nor a path/],
    ['[[rules]]\nregex = "a"', /rule number 1 has no id/],
    ['[[rules]]\nid = "a"\nregex = 7', /rule a: regex is no text/],
    ['[[rules]]\nid = "a"\nregex = "a"\nentropy = "high"', /rule a, entropy: it is no number/],
    ['[[rules]]\nid = "a"\nregex = "a"\nkeywords = "a"', /rule a, keywords: it is no list of texts/],
    ['[[rules]]\nid = "a"\nregex = "a"\n[rules.allowlist]\nregexes = ["("]', /rule a, allow: pattern cannot be used/],
    ['rules = "a"', /rules is no list of tables/],
  ])('that cannot be read is refused, by the rule’s name: %s', (text, message) => {
    expect(() => fromGitleaks(text)).toThrow(message);
  });

  test('is given as text', () => {
    expect(() => fromGitleaks(undefined as never)).toThrow(/it was not given a text/);
  });
});
