import { defineAgent, run } from '@guardloop/core';
import { auditLog, say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LanguageOptions } from './language.js';
import { detectLanguage, language } from './language.js';

const english =
  'The spade that I ordered three weeks ago has still not come, and nobody answers when I call the number on your page. Please tell me where it is.';
const texts: Readonly<Record<string, string>> = {
  en: english,
  de: 'Der Spaten, den ich vor drei Wochen bestellt habe, ist immer noch nicht angekommen, und unter Ihrer Nummer nimmt niemand ab. Bitte sagen Sie mir, wo er ist.',
  fr: "La bêche que j'ai commandée il y a trois semaines n'est toujours pas arrivée, et personne ne répond quand j'appelle le numéro indiqué sur votre page. Pouvez-vous me dire où elle se trouve ?",
  es: 'La pala que encargué hace tres semanas todavía no ha llegado, y nadie contesta cuando llamo al número que aparece en su página. Por favor, dígame dónde está.',
  pl: 'Łopata, którą zamówiłem trzy tygodnie temu, wciąż nie dotarła, a nikt nie odbiera telefonu podanego na waszej stronie. Proszę powiedzieć, gdzie ona jest.',
  tr: 'Üç hafta önce sipariş ettiğim kürek hâlâ gelmedi ve sayfanızdaki numarayı aradığımda kimse cevap vermiyor. Lütfen bana nerede olduğunu söyleyin.',
  ru: 'Лопата, которую я заказал три недели назад, до сих пор не пришла, и никто не отвечает, когда я звоню по номеру с вашей страницы. Пожалуйста, скажите, где она.',
  el: 'Το φτυάρι που παρήγγειλα πριν από τρεις εβδομάδες δεν έχει έρθει ακόμα.',
  ar: 'المجرفة التي طلبتها قبل ثلاثة أسابيع لم تصل بعد، ولا أحد يجيب عندما أتصل بالرقم الموجود على صفحتكم.',
  hi: 'तीन हफ्ते पहले मैंने जो फावड़ा मंगवाया था वह अभी तक नहीं आया है, और आपके पेज पर दिए गए नंबर पर कोई जवाब नहीं देता। कृपया बताएं कि वह कहां है।',
  zh: '我三个星期前订购的铁锹还没有到，打你们网页上的电话也没有人接。请告诉我它在哪里。',
  ja: '三週間前に注文したシャベルがまだ届いていません。どこにあるか教えてください。',
  ko: '3주 전에 주문한 삽이 아직 도착하지 않았습니다. 어디에 있는지 알려 주세요.',
};
const code = [
  'const order = await orders.find({ id: "o1" });',
  'if (order.status !== "sent") { throw new Error("not sent: " + order.status); }',
  'return order.items.map((item) => item.name);',
].join('\n');

async function give(text: string, options: Partial<LanguageOptions<'input'>> = {}) {
  const guardrail = language({ allowed: ['en'], on: ['input'], ...options });
  const result = await run(
    defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('Yes.')]), guardrails: [guardrail] }),
    text,
  );
  expect(auditLog(result.log)).toEqual([]);
  return result.status === 'blocked' ? result.reason : result.status;
}
const refused = 'it is, or part of it is, in another language; it must be in en';
const untold = 'its language cannot be told; it must be in en';

describe('detectLanguage', () => {
  const near = ['es', 'tr', 'ru', 'hi'];
  it.each(Object.entries(texts).filter(([name]) => !near.includes(name)))('tells %s', (wanted, text) => {
    expect(detectLanguage(text)).toBe(wanted);
  });

  it.each(near)('rather says nothing than something else of %s, which is near to others', (wanted) => {
    expect([wanted, 'unknown']).toContain(detectLanguage(texts[wanted] ?? ''));
  });

  it.each([
    ['nothing', ''],
    ['a word', 'Hallo'],
    ['a short question', 'Where is it?'],
    ['names', 'Anna Kowalska, John Smith, Jean Dupont, Wei Zhang, Maria Garcia, Ivan Petrov, Lars Nielsen'],
    ['code', code],
    ['code in a fence', `\`\`\`\n${english}\n\`\`\``],
    ['numbers', '123 456 789 '.repeat(50)],
    ['an address', 'https://example.org/orders/this-is-a-long-path/with-many-words-in-it?and=more&of=them'],
    ['emoji', '🙂🙃'.repeat(100)],
    ['text of two languages', `${texts.de}\n\n${texts.pl}\n\n${texts.fr}`],
  ])('does not tell the language of %s', (_, text) => {
    expect(detectLanguage(text)).toBe('unknown');
  });
});

describe('a text', () => {
  it('in an allowed language is let through', async () => {
    expect(await give(english)).toBe('completed');
    expect(await give(texts.de ?? '', { allowed: ['en', 'deu'] })).toBe('completed');
  });

  it.each(Object.entries(texts).filter(([name]) => name !== 'en'))('in %s is refused where only English is allowed', async (_, text) => {
    expect(await give(text)).toBe(refused);
  });

  it('whose language cannot be told is let through, or refused where that was chosen', async () => {
    for (const text of ['Where is o1?', 'Anna Kowalska, John Smith', 'ok']) {
      expect(await give(text)).toBe('completed');
      expect(await give(text, { unknown: 'refuse' })).toBe(untold);
    }
    for (const text of ['123', code]) expect(await give(text, { unknown: 'refuse' })).toBe('completed');
  });

  it('with a paragraph in another language is refused, wherever that stands', async () => {
    for (const mixed of [`${english}\n\n${texts.de}`, `${texts.de}\n\n${english}`, `${english}\n${texts.ru}\n${english}`])
      expect(await give(mixed)).toBe(refused);
  });

  it('with a short quotation is let through, up to the tolerance', async () => {
    const quoting = `${english} ${english} My note says: ${'Bitte beim Nachbarn abgeben, wenn niemand da ist.'}\n\n${english}`;
    expect(await give(quoting)).toBe('completed');
    expect(await give(`${english}\n\n${texts.de}`, { tolerance: 1 })).toBe('completed');
    expect(await give(`${english} ${english} ${english}\n\n${texts.ru}`, { tolerance: 0 })).toBe(refused);
  });

  it('with code in it is judged by its words', async () => {
    expect(await give(`${english}\n\`\`\`js\n${code}\n\`\`\`\n${english}`)).toBe('completed');
    expect(await give(`${texts.de}\n\`\`\`js\n${code}\n\`\`\``)).toBe(refused);
  });

  it('in another script is refused from few letters on', async () => {
    expect(await give('Где мой заказ номер семь?')).toBe(refused);
    expect(await give('我的订单在哪里？请尽快告诉我。')).toBe(refused);
    expect(await give('Ω and π')).toBe('completed');
  });

  it('that is short, or of names and addresses, is not taken for another language', async () => {
    const texts = [
      'Have you seen Isabella Carvalho lately?',
      'We moved here from Liechtenstein.',
      'How can I improve my handwriting skills?',
      'Deliver to Marta Kowalczyk\n12 Rua das Flores\nVila Nova de Gaia\nPortugal',
      'Anna Stanković, Lars Østergaard, Zsófia Nagy, Chiara Bianchi, Joaquim Carvalho, Tomáš Dvořák, Oluwaseun Adeyemi',
    ];
    for (const text of texts) expect(await give(text)).toBe('completed');
    expect(await give('Спасибо, Анна', { allowed: ['sr'] })).toBe('completed');
  });

  it('of a close relative of an allowed language is not refused for a doubt', async () => {
    expect(await give('La pala no ha llegado y nadie contesta.', { allowed: ['pt'] })).toBe('completed');
  });

  it('is judged whatever it is made of, and never throws', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 3_000 }), (text) => typeof detectLanguage(text) === 'string'),
      { numRuns: 200, seed: 6 },
    );
  });

  it.each([
    ['words', 'spade '],
    ['one word', 'a'],
    ['backticks', '`a'],
    ['fences', '```\n'],
    ['signs', '{}();'],
    ['ends of sentences', '. '],
    ['at signs', 'a@'],
    ['lone surrogates', '\ud800'],
    ['languages', `${Object.values(texts).join('\n')}\n`],
    [
      'trigrams',
      Array.from({ length: 4_000 }, (_, index) => index.toString(26).replace(/\d/g, (digit) => 'qrstuvwxyz'.charAt(Number(digit)))).join(
        ' ',
      ),
    ],
  ])('of 256 KB of %s is judged in time', (_, unit) => {
    const text = unit.repeat(Math.ceil(262_144 / unit.length));
    const began = process.cpuUsage();
    detectLanguage(text);
    expect(process.cpuUsage(began).user).toBeLessThan(2_000_000);
  });

  it.each([
    [{}, "allowed is no list of languages. Give codes, such as ['en', 'de']."],
    [{ allowed: ['english'] }, 'allowed names "english", which is no language that can be told. '],
    [{ allowed: ['en'], unknown: 'deny' }, "unknown is neither 'allow' nor 'refuse'"],
    [{ allowed: ['en'], minLetters: 3 }, 'minLetters must be a whole number from 20'],
    [{ allowed: ['en'], tolerance: 20 }, 'tolerance must be a number from 0 to 1'],
    [{ allow: ['en'] }, 'there is no option allow. Did you mean allowed?'],
  ])('with options that do not fit is refused', (options, message) => {
    expect(() => language(options as never)).toThrow(message);
  });
});
