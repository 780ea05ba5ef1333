// What tells a secret from a word, a name, a variable or a stand-in.

/** Shannon entropy in bits per character. */
export function entropyOf(text: string): number {
  const counts = new Map<number, number>();
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

export function hasLetterAndDigit(text: string): boolean {
  return /[A-Za-z]/.test(text) && /[0-9]/.test(text);
}

// Each is an alternation of literals or one bounded class: linear.
const fillers = /([xX*.#?_-])\1{4}|([01])\2{9}/;
const standIns = /your|placeholder|redacted|change_?-?me|replace|insert|_here|-here|<[^<>]{1,60}>|\.\.\.|…/i;

/** Whether a token's text is written as a stand-in: `xxxxx`, `YOUR_TOKEN_HERE`, `<token>`, `****`. */
export function isPlaceholder(text: string): boolean {
  return fillers.test(text) || standIns.test(text);
}

// Each has its closing sign and bounded words between: what merely contains a brace is no template.
const templates = [
  /^\$\w+$/,
  /^\$[A-Za-z_]\w{0,60}[/:@.-]/,
  /[$#]\{[\w\s.:?/|'"@=,-]{0,100}\}/,
  /\$\([^()]{0,100}\)/,
  /\{\{[^{}]{0,100}\}\}/,
  /<%[^%]{0,100}%>/,
  /^%[A-Za-z_]\w*%$/,
  /^[{[<(][\s\w.,:|/-]{1,100}[}\]>)]$/,
  /^\$[({[]/,
  /^[$%@&][A-Za-z_]\w*$/,
  /^`|`$/,
];

/** Whether a value stands for another: `${PASSWORD}`, `$1`, `{{ secret }}`, `<password>`, `[PASSWORD]`, `{SumoAccessKey}`. */
export function isVariable(text: string): boolean {
  return templates.some((template) => template.test(text)) && !isStrongInBraces(text);
}

/** Braces around something that is no word are part of it: `{ZqL5kVrX1n8tA2}`. */
function isStrongInBraces(text: string): boolean {
  const inner = /^\{(\w+)\}$/.exec(text)?.[1];
  return inner !== undefined && inner.length >= 10 && (inner.match(/[0-9]/g)?.length ?? 0) >= 3 && entropyOf(inner) > 3.2;
}

const uuid = /^\{?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}?$/i;

export function isUuid(text: string): boolean {
  return uuid.test(text);
}

/** Words that a secret's value is written as where there is none. In lower case. */
const stopWords = new Set(
  `password passwd pass pwd passphrase secret secrets token tokens key keys apikey api_key api-key username user admin root test testing tests
  example sample demo dummy fake mock foo bar baz foobar none null nil undefined true false yes no on off string str number boolean bool int
  integer object array any void text value values default optional required require hidden masked encrypted encoded invalid valid missing empty
  unset unknown todo tbd changeme change-me change_me changeit mypassword mysecret mytoken mykey my-secret my-token my_password my_secret
  yourpassword your_password your-password your_token your-token abc 123 1234 12345 env environ environment config
  configuration vault file path basic bearer digest oauth oauth2 jwt header cookie session csrf xsrf refresh access private public client server
  auto automatic generated random once twice please enter input output type field name id here there this that`.split(/\s+/),
);

export function isStopWord(text: string): boolean {
  return stopWords.has(text.toLowerCase());
}

// Identifiers: words of letters joined by case, dots, dashes or underscores, perhaps called or indexed. One class with bounded lead: linear.
const identifier = /^[A-Za-z_$][A-Za-z_$.:/\\-]*(?:[0-9]{1,2})?(?:\(.*|\[.*)?$/;
const call = /^[A-Za-z_$][\w$.]*(?:\(|\[|->|::)/;

/** Whether it reads as a name in code, a path or words: `process.env.TOKEN`, `getToken()`, `user_password`, `some-label`. */
export function isIdentifierLike(text: string): boolean {
  return identifier.test(text) || call.test(text);
}
