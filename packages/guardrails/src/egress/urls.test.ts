import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hostsIn, urlsIn } from './urls.js';

/** What stands at each place, and the host. */
const seen = (text: string) => urlsIn(text).map(({ start, end, host, kind }) => [text.slice(start, end), kind, host]);

describe('the URLs of a text', () => {
  test.each([
    ['see https://shop.example.com/a?b=c.', [['https://shop.example.com/a?b=c', 'url', 'shop.example.com']]],
    ['(http://a.example.org/x(y))', [['http://a.example.org/x(y)', 'url', 'a.example.org']]],
    [
      'go to www.contoso.com, or contoso.com/path!',
      [
        ['www.contoso.com', 'domain', 'www.contoso.com'],
        ['contoso.com/path', 'domain', 'contoso.com'],
      ],
    ],
    ['write to jo.doe+x@mail.contoso.com.', [['jo.doe+x@mail.contoso.com', 'email', 'mail.contoso.com']]],
    ['mailto:jo@contoso.com?subject=x', [['mailto:jo@contoso.com?subject=x', 'email', 'contoso.com']]],
    [
      'at 192.0.2.7 or 192.0.2.7:80/x',
      [
        ['192.0.2.7', 'address', '192.0.2.7'],
        ['192.0.2.7:80/x', 'address', '192.0.2.7'],
      ],
    ],
    ['//cdn.contoso.com/x.js', [['//cdn.contoso.com/x.js', 'url', 'cdn.contoso.com']]],
    ['\\\\files.contoso.com\\share', [['\\\\files.contoso.com\\share', 'url', 'files.contoso.com']]],
    ['data:text/html,hello', [['data:text/html,hello', 'url', '']]],
    ['ftp://files.contoso.com', [['ftp://files.contoso.com', 'url', 'files.contoso.com']]],
    ['见https://contoso.cn/a，好', [['https://contoso.cn/a，好', 'url', 'contoso.cn']]],
    ['请看contoso.com吧。', [['contoso.com', 'domain', 'contoso.com']]],
    ['https://bücher.example/', [['https://bücher.example/', 'url', 'xn--bcher-kva.example']]],
  ])('are found with their hosts: %s', (text, expected) => {
    expect(seen(text)).toEqual(expected);
  });

  test.each([
    'https%3A%2F%2Fevil.example.com%2Fx',
    'https%253A%252F%252Fevil.example.com',
    'https:\\\\evil.example.com\\x',
    'https:/\\evil.example.com',
    'https://%65vil.example.com/',
    '&#104;ttps&colon;&sol;&sol;evil&period;example.com',
    '&#x68;ttps://evil.example.com',
    'https&amp;colon;//no.example.com https://evil.example.com',
    'ｈｔｔｐｓ：／／ｅｖｉｌ．ｅｘａｍｐｌｅ．ｃｏｍ',
    'https://evil。example。com/x',
    'htt\u200bps://ev\u00adil.exam\u2060ple.com',
    '𝗵𝘁𝘁𝗽𝘀://𝗲𝘃𝗶𝗹.example.com',
    'HTTPS://EVIL.EXAMPLE.COM.',
    '\u001b]8;;https://evil.example.com\u0007click\u001b]8;;\u0007',
    'https:evil.example.com/x',
    'https:////evil.example.com',
  ])('are found however their hosts are written: %j', (text) => {
    expect(hostsIn(text).map(({ host }) => host)).toContain('evil.example.com');
  });

  test.each([
    ['http://2130706433/', '127.0.0.1'],
    ['http://0x7f.0.0.1/', '127.0.0.1'],
    ['http://0177.0.0.01', '127.0.0.1'],
    ['http://[::ffff:169.254.169.254]/latest', '[::ffff:a9fe:a9fe]'],
    ['http://127.1:8080', '127.0.0.1'],
  ])('have addresses in their usual form: %s', (text, host) => {
    expect(hostsIn(text).map((found) => found.host)).toEqual([host]);
  });

  test('within another are found too, up to a number, and more of them make the whole odd', () => {
    const twice = urlsIn('https://a.example.com/go?to=https%3A%2F%2Fevil.example.com%2Fx');
    expect(twice.map(({ host, isNested }) => [host, isNested])).toEqual([
      ['a.example.com', false],
      ['evil.example.com', true],
    ]);
    const many = urlsIn(`https://a.example.com/${'https://b.example.com/'.repeat(20)}`);
    expect(many).toHaveLength(9);
    expect(many[0]?.isOdd).toBe(true);
  });

  test.each(['https://a.example.com\\@evil.example.com/', 'https://a.example.com#@evil.example.com'].slice(0, 2))(
    'in which programs read different hosts are odd: %j',
    (text) => {
      expect(urlsIn(text)[0]?.isOdd).toBe(true);
    },
  );

  test('tell of a name and password before the host', () => {
    expect(urlsIn('https://me:pw@contoso.com/')).toMatchObject([{ hasCredentials: true, host: 'contoso.com' }]);
    expect(urlsIn('https://contoso.com/@me')).toMatchObject([{ hasCredentials: false, host: 'contoso.com' }]);
  });

  test.each([
    'main.py, src/lib.rs:10:4 and README.md',
    'e.g. this, i.e. that, at 5 p.m. in the U.S.',
    'That is the end.It was late. So.Then',
    'console.log(process.env.HOME); a.b.c',
    'note: see below; data: none; javascript: is a language',
    'version 1.2.3 costs 12.50, ratio 3:1',
    'a @mention and 50% off',
    '`https://`',
    'http://{host}/path',
  ])('are none where a text only looks a little like it: %s', (text) => {
    expect(seen(text)).toEqual([]);
  });

  test('lie within the text, and finding them never fails', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        'http',
        'https',
        ':',
        '//',
        '\\',
        '@',
        '.',
        'com',
        'evil.com',
        '%3A',
        '%2F',
        '&#x3a;',
        '\u200b',
        '。',
        '?',
        '#',
        ' ',
        '(',
        ')',
        '[::1]',
      ),
      fc.string({ unit: 'binary', maxLength: 4 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const text = pieces.join('');
        let last = 0;
        for (const { start, end, isNested } of urlsIn(text)) {
          expect(start).toBeGreaterThanOrEqual(0);
          expect(end).toBeGreaterThan(start);
          expect(end).toBeLessThanOrEqual(text.length);
          if (!isNested) expect(start).toBeGreaterThanOrEqual(last);
          if (!isNested) last = end;
        }
      }),
      { numRuns: 1000, seed: 71 },
    );
  });

  test.each([
    'http://a',
    'http://(',
    '//a(',
    'http:a(',
    'a.',
    '.',
    'a@',
    'a@b.',
    'https://a.com/',
    'https%3A%2F%2Fa',
    '&#1',
    '%25',
    'é',
    '\u0301',
    'x.com(',
    '\\\\a.com',
  ])('are found in time in 256 KB of %j', (piece) => {
    const text = piece.repeat(Math.ceil(262_144 / piece.length));
    const start = process.cpuUsage();
    urlsIn(text);
    urlsIn(`${text}!`);
    urlsIn(`x${text} `);
    expect(process.cpuUsage(start).user).toBeLessThan(6_000_000);
  });
});
