// The languages of franc-min 6.2.0 (its readme and data.js), with their ISO 639-1 codes where there are such.

/** Script, then `639-3/639-1` or `639-3`. */
const table: Readonly<Record<string, string>> = {
  Latin:
    'spa/es eng/en por/pt ind/id fra/fr deu/de jav/jv vie/vi ita/it tur/tr pol/pl swh/sw sun/su ron/ro hau/ha fuv/ff bos/bs hrv/hr nld/nl srp/sr yor/yo uzn/uz ibo/ig ceb tgl/tl hun/hu azj/az ces/cs run/rn plt/mg qug/qu mad nya/ny zyb/za kin/rw zul/zu swe/sv lin/ln som/so hms hnj ilo ckb',
  Cyrillic: 'rus/ru ukr/uk koi bel/be bul/bg kaz/kk bos/bs srp/sr uzn/uz azj/az',
  Arabic: 'arb/ar urd/ur pes/fa zlm/ms skr pbu/ps ckb',
  Devanagari: 'hin/hi mar/mr mai bho npi/ne mag',
  Han: 'cmn/zh',
  Bengali: 'ben/bn',
  Japanese: 'jpn/ja',
  Hangul: 'kor/ko',
  Telugu: 'tel/te',
  Tamil: 'tam/ta',
  Gujarati: 'guj/gu',
  Kannada: 'kan/kn',
  Malayalam: 'mal/ml',
  Burmese: 'mya/my',
  Gurmukhi: 'pan/pa',
  Ethiopic: 'amh/am',
  Thai: 'tha/th',
  Sinhala: 'sin/si',
  Greek: 'ell/el',
};

const scripts = new Map<string, Set<string>>();
const shortCodes = new Map<string, string>();
const longCodes = new Map<string, string>();
for (const [script, list] of Object.entries(table)) {
  for (const pair of list.split(' ')) {
    const [code = '', short] = pair.split('/');
    scripts.set(code, (scripts.get(code) ?? new Set()).add(script));
    longCodes.set(code, code);
    if (short === undefined) continue;
    shortCodes.set(code, short);
    longCodes.set(short, code);
  }
}

/** All codes that are known, of two and three letters. */
export const languageCodes: readonly string[] = [...longCodes.keys()];

/** The ISO 639-3 code of a code of two or three letters; undefined for a language that franc-min does not know. */
export function codeOf(code: string): string | undefined {
  return longCodes.get(code.toLowerCase());
}

/** The ISO 639-1 code where there is one, else the code itself. */
export function shortCodeOf(code: string): string {
  return shortCodes.get(code) ?? code;
}

/** The scripts in which a language is written; none where franc-min does not know it. */
export function scriptsOf(code: string): ReadonlySet<string> {
  return scripts.get(code) ?? none;
}

const none: ReadonlySet<string> = new Set();
