import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readAllowList } from './allow-list.js';
import { egressIn } from './find-egress.js';

const rules = {
  links: readAllowList('test', 'allow', ['shop.example', '*.corp.example', 'dev.example:8443']),
  loads: readAllowList('test', 'allow', ['shop.example']),
  schemes: new Set(['https', 'http', 'mailto', 'tel']),
  bareDomains: false,
};
const find = (text: string, key?: string) =>
  egressIn(text, { surface: key === undefined ? 'output' : 'toolInput', key }, rules).map(({ start, end, kind }) => [
    kind,
    text.slice(start, end),
  ]);
const kinds = (text: string, key?: string) => find(text, key).map(([kind]) => kind);

describe('what would send data out', () => {
  test.each([
    ['![a](https://evil.example/x?d=1)', [['external-image', 'https://evil.example/x?d=1']]],
    ['![a](<https://evil.example/a b> "t")', [['external-image', 'https://evil.example/a b']]],
    ['![a](\n  //evil.example/x)', [['external-image', '//evil.example/x']]],
    ['[words](https://evil.example "title") more', [['external-link', 'https://evil.example']]],
    ['[![a](https://shop.example/i.png)](https://evil.example/(x))', [['external-link', 'https://evil.example/(x)']]],
    ['![a][r] and\n\n[r]: https://evil.example/p', [['external-image', 'https://evil.example/p']]],
    ['![A  b][]\n[a b]:\n  <//evil.example>', [['external-image', '//evil.example']]],
    ['![r]\n\n[r]: //evil.example', [['external-image', '//evil.example']]],
    ['[w][r]\n\n[r]: //evil.example', [['external-link', '//evil.example']]],
    ['text[^1]\n\n[^1]: see https://evil.example/x.', [['external-link', 'https://evil.example/x']]],
    ['<https://evil.example/x>', [['external-link', 'https://evil.example/x']]],
    ['![[https://evil.example/x]]', [['external-image', 'https://evil.example/x']]],
    ['see https://evil.example.', [['external-link', 'https://evil.example']]],
    ['see www.evil.example/x, not evil.example', [['external-link', 'www.evil.example/x']]],
    ['<https://evil.example|words>', [['external-link', 'https://evil.example']]],
    ['\u001b]8;;https://evil.example\u0007words\u001b]8;;\u0007', [['external-link', 'https://evil.example']]],
  ])('is found in Markdown and plain text: %j', (text, expected) => {
    expect(find(text)).toEqual(expected);
  });

  test.each([
    ['<img src=https://evil.example/x>', [['external-image', 'https://evil.example/x']]],
    ["<IMG\n/SRC\t=\n'//evil.example'>", [['external-image', '//evil.example']]],
    ['<img alt=">" src="&#104;ttps&colon;//evil.example">', [['external-image', '&#104;ttps&colon;//evil.example']]],
    ['<img srcset="https://shop.example/a 1x, //evil.example/b 2x">', [['external-image', '//evil.example/b']]],
    ['<video poster="//evil.example/p" src="/own.mp4">', [['external-image', '//evil.example/p']]],
    ['<a href="//evil.example">words</a>', [['external-link', '//evil.example']]],
    ['<a href="/x" ping="//evil.example">words</a>', [['external-content', '//evil.example']]],
    ['<link rel=stylesheet href=//evil.example/a.css>', [['external-content', '//evil.example/a.css']]],
    ['<iframe src="//evil.example"></iframe>', [['external-content', '//evil.example']]],
    ['<object data="//evil.example">', [['external-content', '//evil.example']]],
    ['<base href="//evil.example/">', [['external-content', '//evil.example/']]],
    ['<form action="//evil.example"><input name=a></form>', [['external-link', '//evil.example']]],
    ['<meta http-equiv=refresh content="0; URL=//evil.example">', [['external-content', '0; URL=//evil.example']]],
    ['<svg><image xlink:href="//evil.example/a"/></svg>', [['external-image', '//evil.example/a']]],
    ['<p style="background:url( //evil.example/a )">', [['external-image', '//evil.example/a']]],
    ['<p style="background:u\\72l(//evil.example/a)">', [['external-image', 'background:u\\72l(//evil.example/a)']]],
    ['<style>@import "//evil.example/a.css";</style>', [['external-image', '//evil.example/a.css']]],
    ['<div data-src="//evil.example/lazy">', [['external-content', '//evil.example/lazy']]],
    ['<!-- <img src=//evil.example> -->', [['external-image', '//evil.example']]],
    ['<b title="<img src=//evil.example>">x</b>', [['external-image', '//evil.example']]],
    ['<img src=/x.png onerror="go()">', [['script', 'go()']]],
    ['<svg/onload=go()>', [['script', 'go()']]],
    ['a <script>go()</script> b', [['script', '<script>go()</script>']]],
    ['<iframe srcdoc="<p>x</p>">', [['script', '<p>x</p>']]],
    ['<img src=//evil.example', [['external-image', '//evil.example']]],
  ])('is found in HTML: %j', (text, expected) => {
    expect(find(text)).toEqual(expected);
  });

  test.each([
    ['[a](javascript:go)', 'script'],
    ['[a](java&Tab;script&colon;go)', 'script'],
    ['<a href="java\nscript:go">', 'script'],
    ['<a href=" &#1; JAVASCRIPT:go">', 'script'],
    ['[a](vbscript:go)', 'script'],
    ['[a](data:text/html,x)', 'unusual-scheme'],
    ['<iframe src="data:image/svg+xml,x">', 'unusual-scheme'],
    ['[a](file:///etc/passwd)', 'unusual-scheme'],
    ['[a](ftp://shop.example/)', 'unusual-scheme'],
    ['[a](https://me:pw@shop.example/)', 'credentials-in-url'],
    ['https://shop.example@evil.example/', 'credentials-in-url'],
    ['[a](http://169.254.169.254/latest/meta-data)', 'private-address'],
    ['http://2852039166/', 'private-address'],
    ['http://0xa9.0376.43518/', 'private-address'],
    ['http://[::ffff:10.0.0.1]/', 'private-address'],
    ['http://[fd00:ec2::254]/', 'private-address'],
    ['http://localhost:8080/', 'private-address'],
    ['http://metadata.google.internal/', 'private-address'],
    ['https://8.8.8.8/', 'external-link'],
    ['https://shоp.example/', 'look-alike-host'],
    ['https://xn--shp-ted.example/', 'look-alike-host'],
    ['https://shop.example\\@evil.example/', 'unreadable-url'],
    ['https://shop.example.evil.example/', 'external-link'],
    ['https://evilshop.example/', 'external-link'],
    ['https://corp.example/', 'external-link'],
    ['https://dev.example/', 'external-link'],
    ['https://shop.example/go?to=https%3A%2F%2Fevil.example', 'external-link'],
    ['https://shop.example/go?to=%2F%2Fevil.example', 'external-link'],
    ['![a](https://shop.example/fetch?u=http://evil.example/)', 'external-image'],
    ['![a](http://shop.example/a.png)', 'external-image'],
    ['![a](https://team.corp.example/a.png)', 'external-image'],
    ['[a](mailto:jo@evil.example?body=secret)', 'external-link'],
    ['https://%65vil%2eexample/', 'external-link'],
    ['https://ev\u200bil.example/', 'external-link'],
    ['ｈｔｔｐｓ：／／ｅｖｉｌ．ｅｘａｍｐｌｅ', 'external-link'],
    ['[a](\\\\evil.example/x)', 'external-link'],
    ['[a](/\\evil.example)', 'external-link'],
  ])('has a kind: %j is %s', (text, kind) => {
    expect(kinds(text)).toEqual([kind]);
  });

  test.each([
    '![logo](https://shop.example/logo.png?w=100) [docs](https://docs.corp.example/a#b)',
    '[a](/rel) [b](#part) ![c](img/c.png) [d](?q=1) [e](docs/a.md)',
    '<a href="https://shop.example/">x</a> <img src="/own.png"> <b class="x">y</b>',
    '[mail](mailto:jo@evil.example) [call](tel:+15550100)',
    'https://SHOP.example:443/x https://dev.example:8443/ https://shop.example./',
    '![a](data:image/png;base64,iVBORw0KGgo=)',
    'if (a<b && c>d) { list[i](x); } a[0]: 5, note: x',
    'jo@evil.example and evil.example, 10.0.0.1, v1.2.3',
    '- [ ] todo\n- [x] done: yes',
    '<p style="color: red; width: calc(1px + 2px)">x</p>',
  ])('is nothing of the allowed and the ordinary: %j', (text) => {
    expect(find(text)).toEqual([]);
  });

  test('is read without the letters of an escape before it', () => {
    for (const escaped of ['\\n', '\\t', '\\u000a', '\\u001b[32m', '\u001b[1m']) {
      expect(find(`{"log":"see${escaped}https://evil.example/x"}`)).toEqual([['external-link', 'https://evil.example/x']]);
      expect(find(`{"log":"see${escaped}www.evil.example"}`)).toEqual([['external-link', 'www.evil.example']]);
      expect(find(`{"log":"see${escaped}javascript:alert(1)"}`)).toEqual([['script', 'javascript:alert(1)']]);
      expect(find(`{"log":"see${escaped}https://shop.example/x"}`)).toEqual([]);
    }
    // Browsers take the backslashes for slashes: `n` is a letter of the host then.
    expect(kinds('![a](\\\\nshop.example/x)')).toEqual(['external-image']);
    expect(kinds('see \\\\nshop.example/x')).toEqual(['external-link']);
  });

  test('is bare domains and addresses too, where that is asked for', () => {
    const found = egressIn('go to evil.example/x, shop.example or 10.0.0.1', { surface: 'output' }, { ...rules, bareDomains: true });
    expect(found.map(({ kind }) => kind)).toEqual(['external-link', 'private-address']);
  });

  test('is every host but private ones where the list is open', () => {
    const open = { ...rules, links: readAllowList('test', 'allow', ['*']) };
    const of = (text: string) => egressIn(text, { surface: 'output' }, open).map(({ kind }) => kind);
    expect(of('https://anything.example/ http://some.where.example/x')).toEqual([]);
    expect(of('http://127.0.0.1/ http://8.8.8.8/ http://db/ http://x.internal/')).toEqual([
      'private-address',
      'external-link',
      'external-link',
      'private-address',
    ]);
    expect(of('https://pаypal.example/')).toEqual(['look-alike-host']);
    expect(of('https://пример.example/ https://bücher.example/')).toEqual([]);
  });

  test.each([
    ['url', 'evil.example/x', ['external-link']],
    ['imageUrl', '//evil.example', ['external-link']],
    ['callback_url', 'https://a.corp.example/', []],
    ['base-url', 'localhost:3000', ['private-address']],
    ['url', '/own/path', []],
    ['url', 'docs/readme.md', []],
    ['host', '2130706433', ['private-address']],
    ['hostname', 'shop.example', []],
    ['server', '[::1]:80', ['private-address']],
    ['note', 'evil.example', []],
    ['note', 'see https://evil.example', ['external-link']],
  ])('in an argument that is named for it is read without a scheme: %s %s', (key, value, expected) => {
    expect(kinds(value, key)).toEqual(expected);
  });

  test('is found in any mixture without failing, within the text, none over another', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '![',
        '](',
        ')',
        '[a]:',
        '<a href=',
        '<img src="',
        '"',
        "'",
        '>',
        '<script',
        '</script>',
        '<style>',
        'url(',
        '\\',
        '//evil.example',
      ),
      fc.constantFrom('https://', 'javascript:', '&#x3a;', '%2f', '\n', ' ', '\u0000', '\ud800', '@', '?', '<!--', 'srcset=', 'onx=', '`'),
      fc.string({ unit: 'binary', maxLength: 3 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const text = pieces.join('');
        let last = 0;
        for (const { start, end } of egressIn(text, { surface: 'output' }, rules)) {
          expect(start).toBeGreaterThanOrEqual(last);
          expect(end).toBeGreaterThan(start);
          expect(end).toBeLessThanOrEqual(text.length);
          last = end;
        }
      }),
      { numRuns: 1000, seed: 72 },
    );
  });

  test('is gone after redaction: what is put in its place is nothing that leads out', () => {
    const pieces = [
      '![a](https://evil.example/x)',
      '<img src=//evil.example>',
      '<a href="https://evil.example">w</a>',
      '[r]: //evil.example',
      'https://evil.example',
    ];
    fc.assert(
      fc.property(fc.shuffledSubarray(pieces, { minLength: 1 }), (chosen) => {
        let text = chosen.join('\n');
        for (const { start, end, kind } of egressIn(text, { surface: 'output' }, rules).toReversed())
          text = `${text.slice(0, start)}[${kind}]${text.slice(end)}`;
        expect(egressIn(text, { surface: 'output' }, rules)).toEqual([]);
      }),
      { numRuns: 200, seed: 73 },
    );
  });

  test.each([
    '](',
    '![](',
    '](a',
    '](<',
    '[',
    ']',
    '[a]:',
    '![a][',
    '<a ',
    '<a b="',
    `<a b='<a b="`,
    '<img src=x ',
    '<a b=""',
    '<script ',
    '<script></script',
    '<style>',
    'url(',
    '@import "',
    '<a style="\\',
    '\\',
    '((((',
    'https://a?=//b.com',
    '`',
    '&colon;',
    '<x y="<z>" ',
  ])('is looked for in time in 256 KB of %j', (piece) => {
    const text = piece.repeat(Math.ceil(262_144 / piece.length));
    const start = process.cpuUsage();
    egressIn(text, { surface: 'output' }, rules);
    egressIn(`x${text})">`, { surface: 'output' }, rules);
    expect(process.cpuUsage(start).user).toBeLessThan(4_000_000);
  });
});
