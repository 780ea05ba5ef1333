// Postal addresses as they are written in a few countries. What these miss is most of the world: off unless it is asked for.
import type { TextFinding } from '../text/finding.js';

// Bounded words with single spaces between; a street's kind ends them: linear.
const english =
  /(?<![\w.-])\d{1,6}[A-Za-z]?(?:-\d{1,5})? (?:(?:N|S|E|W|NE|NW|SE|SW|North|South|East|West)\.? )?(?:[A-Z0-9][\w'’.-]{0,30} ){1,4}(?:Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Place|Pl|Square|Sq|Terrace|Ter|Way|Parkway|Pkwy|Highway|Hwy|Circle|Cir|Close|Crescent|Gardens|Grove|Mews|Row|Trail|Trl|Alley|Quay|Hill|Green|Walk)\b\.?(?:,? (?:Apt|Apartment|Suite|Ste|Unit|Floor|Fl|Room|Rm|Flat|#)\.? ?#?[\w-]{1,8})?(?:,? [A-Z][\w.'-]{1,30}(?: [A-Z][\w.'-]{1,30}){0,2},? [A-Z]{2} \d{5}(?:-\d{4})?)?/g;
const box = /(?<!\w)(?:P\.? ?O\.? ?Box|PO Box|Postfach|Boîte postale|B\.P\.|Apartado(?: de Correos)?) \d{1,8}(?!\w)/gi;
const military = /(?<!\w)(?:PSC|CMR|Unit) \d{1,5},? Box \d{1,5}[\s,]{1,4}(?:APO|FPO|DPO) (?:AA|AE|AP) \d{5}(?!\d)/g;
const stateAndCode =
  /(?<!\w)[A-Z][A-Za-z.'-]{1,30}(?: [A-Z][A-Za-z.'-]{1,30}){0,2}, (?:A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY]) \d{5}(?:-\d{4})?(?!\d)/g;
const ukPostcode =
  /(?<![\w-])(?:GIR ?0AA|[A-PR-UWYZ](?:\d{1,2}|[A-HK-Y]\d{1,2}|\d[A-HJKPSTUW]|[A-HK-Y]\d[ABEHMNPRVWXY]) ?\d[ABD-HJLNP-UW-Z]{2})(?![\w-])/g;
const german =
  /(?<!\p{L})\p{Lu}[\p{L}.-]{1,40}(?:straße|strasse|str\.|weg|gasse|platz|allee|ring|damm|ufer)(?: |-)\d{1,4} ?[a-z]?(?![\p{L}\d])(?:, ?(?:D-)?\d{5} \p{Lu}[\p{L}-]{1,40})?/gu;
const romance =
  /(?<!\p{L})(?:\d{1,5}(?: ?(?:bis|ter))?,? (?:rue|avenue|boulevard|place|impasse|allée|chemin|quai) (?:(?:de|du|des|la|le|les|d'|l') ?){0,3}\p{Lu}[\p{L}'’-]{1,30}(?: \p{Lu}?[\p{L}'’-]{1,30}){0,3}|(?:Calle|Avenida|Avda\.?|Plaza|Paseo|Rua|Via|Viale|Piazza|Corso|Largo|Travessa) (?:(?:de|del|della|dei|da|do|dos|la|las|los|el) ){0,3}\p{Lu}[\p{L}'’.-]{1,30}(?: \p{L}[\p{L}'’.-]{0,30}){0,3},? (?:n[.º°]{0,2} ?)?\d{1,5})(?![\p{L}\d])/gu;
const patterns = [english, box, military, stateAndCode, ukPostcode, german, romance];

/** Streets with numbers (English, German, French, Spanish, Italian, Portuguese), boxes, cities with a US state and code, UK postcodes. */
export function findAddresses(text: string): readonly TextFinding[] {
  return patterns.flatMap((pattern) =>
    Array.from(text.matchAll(pattern), (match) => ({ start: match.index, end: match.index + match[0].length, kind: 'postal-address' })),
  );
}
