import { defineAgent, stream } from '@guardloop/core';
import { auditLog, say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findPii, pii, piiKinds } from './pii.js';

const everything = findPii({ kinds: piiKinds().map(({ id }) => id) }).find;
const found = (text: string, key?: string): string[] =>
  everything(text, { surface: 'input', key }).map(({ kind, start, end }) => `${kind}: ${text.slice(start, end)}`);
const kindsIn = (text: string, key?: string): string[] => [...new Set(everything(text, { surface: 'input', key }).map(({ kind }) => kind))];

describe('national numbers', () => {
  // Worked examples of the authorities' own documentation, or of the encyclopaedia's article on the number.
  test.each([
    ['us-ssn', 'It is 536-90-4399.'],
    ['us-ssn', 'SSN 536904399'],
    ['us-itin', 'ITIN: 912-78-1234'],
    ['us-bank-routing-number', 'routing number 111000025'],
    ['us-medicare-id', 'Medicare 1EG4-TE5-MK73'],
    ['us-driver-license', "driver's license D1234567"],
    ['ca-sin', 'social insurance number 046 454 286'],
    ['br-cpf', 'CPF 529.982.247-25'],
    ['br-cpf', 'o documento 529.982.247-25 dela'],
    ['br-cnpj', '11.222.333/0001-81'],
    ['mx-curp', 'HEGG560427MVZRRL04'],
    ['cl-rut', '12.345.678-5'],
    ['uk-nhs-number', 'NHS number 943 476 5919'],
    ['uk-nino', 'her number AB 12 34 56 C'],
    ['de-tax-id', 'Steuer-ID 86 095 742 719'],
    ['de-tax-id', 'Meine Identifikationsnummer lautet 36574261809'],
    ['de-social-insurance-number', '15070649C103'],
    ['fr-nir', '2 55 08 14 168 025 38'],
    ['es-dni', '12345678Z'],
    ['es-nie', 'X1234567L'],
    ['it-codice-fiscale', 'RSSMRA85T10A562S'],
    ['nl-bsn', 'BSN: 111222333'],
    ['be-national-number', '85.07.30-033.28'],
    ['pl-pesel', 'PESEL 44051401359'],
    ['se-personnummer', '811218-9876'],
    ['fi-hetu', '131052-308T'],
    ['no-fodselsnummer', 'fødselsnummer 15076500565'],
    ['dk-cpr', 'CPR 070761-4285'],
    ['ch-ahv', '756.9217.0769.85'],
    ['at-svnr', 'Sozialversicherungsnummer 1237 010180'],
    ['pt-nif', 'NIF 123456789'],
    ['ie-pps', 'PPS 1234567T'],
    ['gr-afm', 'ΑΦΜ, AFM 090000045'],
    ['bg-egn', 'ЕГН, EGN 7523169263'],
    ['cz-birth-number', '710319/2745'],
    ['hr-oib', 'OIB 69435151530'],
    ['ru-snils', '112-233-445 95'],
    ['ru-inn', 'ИНН 500100732259'],
    ['in-pan', 'ABCPE1234F'],
    ['au-tfn', 'TFN 123 456 782'],
    ['au-abn', 'ABN 51 824 753 556'],
    ['nz-ird', 'IRD 49-091-850'],
    ['cn-resident-id', '11010519491231002X'],
    ['jp-my-number', 'マイナンバー 123456789018'],
    ['kr-rrn', '900101-1234568'],
    ['tw-national-id', 'A123456789'],
    ['hk-id', 'A123456(3)'],
    ['sg-nric', 'S1234567D'],
    ['tr-identity-number', 'TC kimlik 10000000146'],
    ['za-id-number', 'ID number 8001015009087'],
    ['passport', 'passport no. C01234567'],
  ])('%s is found in «%s»', (kind, text) => {
    expect(kindsIn(text)).toContain(kind);
  });

  test.each([
    ['us-ssn', '000-12-3456 666-12-3456 900-12-3456 536-00-4399 536-90-0000'],
    ['uk-nhs-number', 'NHS number 943 476 5918'],
    ['uk-nino', 'BG123456A QQ123456C'],
    ['de-tax-id', 'Steuer-ID 86095742718'],
    ['fr-nir', '2 55 08 14 168 025 39'],
    ['es-dni', '12345678A'],
    ['it-codice-fiscale', 'RSSMRA85T10A562T'],
    ['nl-bsn', 'BSN 111222334'],
    ['pl-pesel', 'PESEL 44051401358'],
    ['se-personnummer', '811218-9875'],
    ['fi-hetu', '131052-308U'],
    ['br-cpf', '529.982.247-26'],
    ['ca-sin', 'social insurance number 046 454 287'],
    ['au-tfn', 'TFN 123 456 789'],
    ['cn-resident-id', '110105194912310021'],
    ['ch-ahv', '756.9217.0769.84'],
  ])('a wrong check digit is no %s', (kind, text) => {
    expect(kindsIn(text)).not.toContain(kind);
  });

  test.each(['Order 536904399 was sent.', 'The total is 111222333.', 'ticket 44051401359', 'build 8001015009087', 'article 123456782'])(
    'digits alone are none without a word near: %s',
    (text) => expect(kindsIn(text)).toEqual([]),
  );

  test('every Aadhaar number with a right last digit is found near its name, and with any other last digit is not', () => {
    fc.assert(
      fc.property(fc.integer({ min: 20_000_000_000, max: 99_999_999_999 }), (body) => {
        const right = Array.from({ length: 10 }, (_, digit) => digit).filter((digit) =>
          kindsIn(`Aadhaar ${body}${digit}`).includes('in-aadhaar'),
        );
        expect(right).toHaveLength(1);
      }),
      { numRuns: 60, seed: 65 },
    );
  });
});

describe('cards and accounts', () => {
  test.each([
    'Pay with 4111 1111 1111 1111 please',
    '5555-5555-5555-4444',
    '378282246310005',
    '3782 822463 10005',
    '6011111111111117',
    '3530111333300000',
    '2223003122003222',
    '4111 1111 1111 1111 123 12/29',
    'card 30569309025904',
    'my card is 6759649826438453',
  ])('a payment card is found in «%s»', (text) => expect(kindsIn(text)).toContain('payment-card'));

  test.each([
    '4111 1111 1111 1112',
    '1234567890123452',
    'id 4111111111111111a',
    'v0.4111111111111111',
    '41111111111111110000',
    '4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1',
    '0000 0000 0000 0000',
    'EAN 4006381333931',
    '1700000000000',
  ])('none in «%s»', (text) => expect(kindsIn(text)).not.toContain('payment-card'));

  test.each([
    'GB82 WEST 1234 5698 7654 32',
    'DE89370400440532013000',
    'fr14 2004 1010 0505 0001 3m02 606',
    'IBAN: NO93 8601 1117 947, thanks',
    'NL91-ABNA-0417-1643-00',
  ])('an IBAN is found in «%s», and with another check digit it is none', (text) => {
    expect(kindsIn(text)).toContain('iban');
    expect(kindsIn(text.replace(/\d\d/, (digits) => String((Number(digits) + 1) % 100).padStart(2, '0')))).not.toContain('iban');
  });
});

describe('contact and network', () => {
  test.each([
    ['write to jan.novak+orders@example.co.uk.', 'jan.novak+orders@example.co.uk'],
    ['<Åsa@exämple.se>', 'Åsa@exämple.se'],
    ['メールはtaro@example.jpまで', 'taro@example.jp'],
    ['mailto:a_b@sub.example.museum?x=1', 'a_b@sub.example.museum'],
    ['jan [at] example [dot] org', 'jan [at] example [dot] org'],
    ["'o'neil@example.com'", "o'neil@example.com"],
  ])('an e-mail address is found whole: %s', (text, address) => expect(found(text)).toContain(`email: ${address}`));

  test.each([
    'npm i @scope/name',
    'git clone git@host.example.com:owner/repository.git',
    'logo@2x.png',
    'a@b',
    '@here look',
    'https://jan:word@example.com/x',
    'foo @ bar.com',
    'version@1.2.3',
  ])('no e-mail address in «%s»', (text) => expect(kindsIn(text)).not.toContain('email'));

  test.each([
    '+49 30 901820',
    '+44 (0)20 7946 0958',
    '+1-212-555-0123',
    '0044 20 7946 0958',
    '(212) 555-0123',
    '212-555-0123',
    'call me at 4155550123',
    'Tel. 030/901820',
    'fax 21 34 56 78',
    'reach me on 0171 2345678',
    '+1-984-182-0190x12345',
    '+33 (0)6 12 34 56 78',
    'phone=+15551234567',
    '(579)888-3058 ext. 12',
    '001-518-640-0854',
    '1.212.555.0123',
    'Phone: 5550123',
    '電話 03-1234-5678',
  ])('a telephone number is found in «%s»', (text) => expect(kindsIn(text)).toContain('phone'));

  test('an extension is part of a telephone number', () => {
    expect(found('call 212-555-0123x99 now')).toEqual(['phone: 212-555-0123x99']);
    expect(found('212-555-0123, ext. 7.')).toEqual(['phone: 212-555-0123, ext. 7']);
  });

  test.each([
    'on 2024-05-26 and 26.05.2024',
    'the years 1990-2000',
    'order 4155550123',
    'invoice #212-555-0123',
    'costs 1.234.567 €',
    'at 10.0.0.12',
    'pi is 3.14159265',
    'https://example.com/212-555-0123',
    'page 1234567',
    'The office has 1200000 visitors',
    'contact me about invoice 2023-000123',
    'call us with order number 4155550123',
    'b2c3d4e5-1234567',
    '12 34',
  ])('no telephone number in «%s»', (text) => expect(kindsIn(text)).not.toContain('phone'));

  test('numbers of the given regions need no word near; others do', () => {
    const french = findPii({ regions: ['FR'] }).find;
    const kinds = (text: string): string[] => french(text, { surface: 'input' }).map(({ kind }) => kind);
    expect(kinds('so 06 12 34 56 78 is it')).toEqual(['phone']);
    expect(kinds('0612345678')).toEqual(['phone']);
    expect(kinds('so 10 12 34 56 78 is it')).toEqual([]);
    expect(kinds('030 901820')).toEqual([]);
    expect(kinds('BSN 111222333')).toEqual([]);
  });

  test('in a crowd of numbers none of the region is missed', () => {
    const numbers = Array.from(
      { length: 300 },
      (_, index) =>
        `06 12 34 ${String(index)
          .padStart(4, '0')
          .replace(/(..)(..)/, '$1 $2')}`,
    );
    const text = numbers.join(', ');
    const mine = findPii({ kinds: ['phone'], regions: ['FR'] }).find(text, { surface: 'input' });
    expect(mine.map(({ start, end }) => text.slice(start, end))).toEqual(numbers);
  });

  test.each(['from 203.0.113.7.', '2001:db8::8a2e:370:7334', 'fe80::1ff:fe23:4567:890a', '[2001:db8::1]:443', '::ffff:203.0.113.7'])(
    'an IP address is found in «%s»',
    (text) => expect(kindsIn(text)).toContain('ip-address'),
  );

  test.each([
    'version 1.2.3.4',
    'v10.2.3.4',
    '300.1.2.3',
    '1.2.3.4.5',
    'std::string a::b',
    'at 12:34:56',
    '127.0.0.1',
    '0.0.0.0',
    'aa:bb:cc:dd:ee:ff',
  ])('no IP address in «%s»', (text) => expect(kindsIn(text)).not.toContain('ip-address'));

  test('a MAC address is found, the broadcast address is not', () => {
    expect(kindsIn('at 3c:22:fb:12:34:56')).toEqual(['mac-address']);
    expect(kindsIn('at ff:ff:ff:ff:ff:ff')).toEqual([]);
  });

  test('a date is one of birth near a word that says so', () => {
    expect(found('She was born on 12 March 1984 in Brno.')).toEqual(['date-of-birth: 12 March 1984']);
    expect(found('DOB: 03/12/1984')).toEqual(['date-of-birth: 03/12/1984']);
    expect(found('The meeting is on 12 March 2031.')).toEqual([]);
  });
});

describe('what the form hides', () => {
  test.each([
    ['４１１１ １１１１ １１１１ １１１１', 'payment-card'],
    ['٤١١١١١١١١١١١١١١١', 'payment-card'],
    ['𝟒𝟏𝟏𝟏 𝟏𝟏𝟏𝟏 𝟏𝟏𝟏𝟏 𝟏𝟏𝟏𝟏', 'payment-card'],
    ['4111\u200b1111\u200b1111\u200b1111', 'payment-card'],
    ['536‑90‑4399', 'us-ssn'],
    ['４９ jan＠example．org', 'email'],
    ['GB82\u00a0WEST\u00a01234\u00a05698\u00a07654\u00a032', 'iban'],
  ])('%s is a %s, and the finding covers it', (text, kind) => {
    const finding = everything(`é ${text} é`, { surface: 'input' }).find((entry) => entry.kind === kind);
    expect(finding).toBeDefined();
    const covered = `é ${text} é`.slice(finding?.start, finding?.end);
    expect(kind === 'email' ? text.endsWith(covered) : covered === text).toBe(true);
  });

  test.each(['\\n', '\\t', '\\\\n', '\\u000a', '\\u003c', '\\u001b[32m', '%0A', '%3D', '\u001b[1m'])(
    'behind %j, which was not decoded, it is found without a piece of the escape',
    (before) => {
      const values = ['4111111111111111', '536-90-4399', 'DE89370400440532013000', '203.0.113.7', 'anna@example.org', '+49 30 901820'];
      for (const value of values) {
        const text = `{"log":"it is:${before}${value}"}`;
        expect(found(text).map((one) => one.replace(/^[\w-]+: /, ''))).toEqual([value]);
      }
    },
  );

  test('letters that are escaped stay letters', () => {
    expect(found('M\\u00fcller 4111')).toEqual([]);
  });

  test('a field is context for its value', () => {
    expect(kindsIn('536904399', 'ssn')).toEqual(['us-ssn']);
    expect(kindsIn('1984-03-12', 'dateOfBirth')).toEqual(['date-of-birth']);
    expect(kindsIn('4155550123', 'phone_number')).toEqual(['phone']);
    expect(kindsIn('536904399', 'orderId')).toEqual([]);
  });
});

describe('findings that overlap', () => {
  test('leave nothing of either over', () => {
    // The telephone number that a word makes of the first groups must not leave the end of the card.
    for (const text of [
      'call 555 4111 1111 1111 1111',
      'tel 4111 1111 1111 1111',
      'SSN 536904399 DE89370400440532013000 card 4111111111111111',
    ]) {
      const mine = everything(text, { surface: 'input' });
      const rest = mine.reduceRight((left, { start, end }) => `${left.slice(0, start)}#${left.slice(end)}`, text);
      expect(rest).not.toMatch(/\d{4}/);
    }
  });
});

describe('postal addresses', () => {
  test('are found in the forms of a few countries', () => {
    for (const text of [
      '221B Baker Street',
      '1600 Amphitheatre Parkway, Mountain View, CA 94043',
      'PO Box 1234',
      'SW1A 1AA',
      'Hauptstraße 12',
      '12 rue de la Paix',
      'Calle de Alcalá 45',
    ])
      expect(kindsIn(`I live at ${text}.`)).toContain('postal-address');
  });

  test('are looked for only where they are asked for', () => {
    expect(findPii().find('221B Baker Street', { surface: 'input' })).toEqual([]);
  });
});

describe('any text', () => {
  test('is answered with findings within it, and never with a failure', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.constantFrom('', 'ssn', 'phone'), (text, key) => {
        for (const { start, end } of everything(text, { surface: 'input', key })) {
          expect(start).toBeGreaterThanOrEqual(0);
          expect(end).toBeGreaterThan(start);
          expect(end).toBeLessThanOrEqual(text.length);
        }
      }),
      { numRuns: 400, seed: 66 },
    );
  });

  test('a finding is no longer than the window, and stands alike where the text around it is cut at the window', () => {
    const pieces = [
      'jan@example.org',
      '4111 1111 1111 1111',
      'call me on 030 901820',
      'SSN 536904399',
      '203.0.113.7',
      'GB82 WEST 1234 5698 7654 32',
      'born 12 March 1984',
      'lorem ipsum dolor ',
      'é٣ ',
      '\n',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { minLength: 20, maxLength: 60 }), fc.nat(), (parts, place) => {
        const text = parts.join(' ');
        const from = place % text.length;
        const cut = text.slice(Math.max(0, from - 256), from + 256);
        const offset = Math.max(0, from - 256);
        const whole = everything(text, { surface: 'input' });
        const inCut = new Set(
          everything(cut, { surface: 'input' }).map(({ start, end, kind }) => `${start + offset} ${end + offset} ${kind}`),
        );
        for (const { start, end, kind } of whole) {
          expect(end - start).toBeLessThanOrEqual(256);
          if (start <= from && end > from) expect(inCut).toContain(`${start} ${end} ${kind}`);
        }
      }),
      { numRuns: 150, seed: 67 },
    );
  });

  test('however much is found in it', () => {
    const text = '203.0.113.7 a@example.org '.repeat(100_000);
    expect(everything(text, { surface: 'input' })).toHaveLength(200_000);
  });

  test.each(['1 ', '4111 ', '+1 ', 'a@b.', '(', '1.1.', 'tel 1', '12 Main St ', 'DE44 ', '\ud800', '٣'])(
    '256 KB of «%s» is answered in time',
    (piece) => {
      const start = process.cpuUsage();
      everything(piece.repeat(262_144 / piece.length), { surface: 'input' });
      expect(process.cpuUsage(start).user).toBeLessThan(2_000_000);
    },
  );
});

describe('the guardrail', () => {
  test('lets answers flow, and the log holds placeholders', async () => {
    const pieces = [
      'Write to jan@exam',
      'ple.org or call +49 30 9',
      '01820. ',
      ...Array.from({ length: 80 }, () => 'Nothing else is to be said here. '),
      'Card 4111 1111 ',
      '1111 1111.',
    ];
    const agent = defineAgent({ name: 'desk', instructions: 'Help.', model: scriptedModel([say(pieces)]), guardrails: [pii()] });
    const events = stream(agent, 'My card is 4111 1111 1111 1111.');
    const shown: string[] = [];
    for await (const event of events) if (event.type === 'text.delta') shown.push(event.text);
    const result = await events.result;
    expect(shown.length).toBeGreaterThan(10);
    expect(shown.join('')).toMatch(/^Write to \[email\] or call \[phone\]\. Nothing .* Card \[payment-card\]\.$/);
    expect(JSON.stringify(result.log)).not.toMatch(/4111[ -]?1111|jan@/);
    expect(auditLog(result.log)).toEqual([]);
  });

  test.each([
    [{ kinds: ['emial'] }, /kinds names emial, which is no kind and no group\. Did you mean email\?/],
    [{ without: 'email' }, /without is no list/],
    [{ regions: ['UK'] }, /regions names UK, which is no country's code\. Did you mean GB\?/],
    [{ regions: ['de'] }, /Did you mean DE\?/],
    [{ region: ['DE'] }, /there is no option region\. Did you mean regions\?/],
  ])('refuses options that make no sense: %j', (options, message) => {
    expect(() => pii(options as never)).toThrow(message);
  });

  test('every kind has an id of its own and says what it is', () => {
    const kinds = piiKinds();
    expect(new Set(kinds.map(({ id }) => id)).size).toBe(kinds.length);
    for (const { words } of kinds) expect(words).not.toBe('');
  });
});
