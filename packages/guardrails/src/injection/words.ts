// What single words may mean in an instruction that hides in data. A word can mean several things.

/** What a word may be part of. */
export const meanings = {
  /** Orders to leave earlier orders: ignore. */
  dismiss: 1,
  /** Says which orders: previous, all, your. */
  earlier: 2,
  /** Orders themselves: instructions, prompt. */
  orders: 4,
  /** Orders to show: reveal. */
  reveal: 8,
  /** Of what is kept from view: system, hidden. */
  inner: 16,
  /** Names an assistant. */
  assistant: 32,
  /** Orders to move something away: send. */
  move: 64,
  /** What is worth moving: password. */
  prize: 128,
  /** Presses: urgently. */
  urgent: 256,
  /** The person who must not know: user. */
  person: 512,
  /** Orders to tell: mention. */
  tell: 1024,
  /** Denies: not, never, without. */
  not: 2048,
  /** The one who is told: you, your. */
  you: 4096,
  /** Says that no rule holds: unrestricted. */
  lawless: 8192,
  /** Runs something: execute, call. */
  run: 16384,
  /** What is run: tool, function, command. */
  tool: 32768,
  /** Says when it begins: now, instead. */
  now: 65536,
} as const;

const words: Readonly<Record<keyof typeof meanings, string>> = {
  dismiss:
    'ignore ignoring disregard forget override bypass discard overrule neglect ignorez oubliez ignorer oublie ignoriere ignorieren vergiss vergesst vergessen ignora ignorad ignore olvida olvide olvidad dimentica dimenticate esqueca esqueça ignorar negeer vergeet игнорируй игнорируйте забудь забудьте zignoruj unut yoksay',
  earlier:
    'previous prior above earlier preceding former past existing original current initial all any every precedentes precedente précédentes précédents anteriores anterior vorherigen vorigen bisherigen früheren obigen alle toutes tous todas todos tutte precedenti vorige eerdere предыдущие прежние все poprzednie onceki önceki',
  orders:
    'instruction instructions prompt prompts rule rules guideline guidelines directive directives command commands order orders guardrails policy policies safeguards restrictions constraints programming context consignes consigne instrucciones reglas anweisungen anweisung regeln befehle istruzioni regole instrucoes instruções regras instructies инструкции правила указания instrukcje talimatları talimatlari',
  reveal:
    'reveal disclose leak expose divulge print output repeat affichez affiche montrez display show dump echo give recite révèle revele révélez revelez revela muestra zeige verrate offenlegen rivela mostra exibe покажи раскрой',
  inner: 'system hidden internal secret initial developer confidential système systeme sistema systemprompt systemaufforderung системный',
  assistant:
    'assistant assistants chatgpt gpt gpt-4 gpt-4o gpt-5 claude gemini copilot llama llm llms chatbot ai bard mistral deepseek grok ki ia ии',
  move: 'send forward email e-mail mail post transfer upload exfiltrate submit transmit wire deliver leak deposit envoyez envoie sende schicke leite überweise envía envia manda invia inviare отправь отправьте',
  prize:
    'password passwords credentials credential token tokens key keys secret secrets cookie cookies history conversation contacts inbox emails messages files data database payment money funds balance canary memory address card passwort mot-de-passe contraseña contrasena пароль',
  urgent: 'urgent urgently immediately asap critical crucial important mandatory emergency urgente dringend sofort immédiatement срочно',
  person: 'user users human operator owner customer anyone anybody utilisateur benutzer nutzer usuario utente пользователю',
  tell: 'tell mention inform notify reveal disclose alert say report acknowledge warn show telling mentioning informing notifying alerting revealing disclosing dis sage erwähne menciona digas',
  not: "not never without dont don't don’t avoid refrain ne nicht keine no nunca non não не",
  you: 'you your yours yourself vous votre du ihr dein deine tú tu usted você voce ты вы',
  lawless: 'unrestricted unfiltered uncensored jailbreak jailbroken jailbreaking amoral dan unlimited restrictionless lawless',
  run: 'execute run call invoke use perform follow obey comply launch trigger decode exécutez execute führe ejecuta esegui выполни',
  tool: 'tool tools function functions command commands api plugin endpoint script shell',
  now: 'now instead henceforth onwards onward first désormais maintenant jetzt stattdessen ahora ora adesso agora теперь',
};

export const meaningsOf: ReadonlyMap<string, number> = collect((word) => word);
/** The same words in disguise: each letter 13 places on, and from the end. */
export const meaningsOfRotated: ReadonlyMap<string, number> = collect(rotatedWord);
export const meaningsOfReversed: ReadonlyMap<string, number> = collect(reversedWord);

function collect(disguise: (word: string) => string): ReadonlyMap<string, number> {
  const made = new Map<string, number>();
  for (const [meaning, list] of Object.entries(words)) {
    for (const word of list.split(' ')) {
      const key = disguise(plainWord(word));
      made.set(key, (made.get(key) ?? 0) | meanings[meaning as keyof typeof meanings]);
    }
  }
  return made;
}

/** Each letter 13 places on. */
export function rotatedWord(word: string): string {
  return word.replace(/[a-z]/g, (letter) => String.fromCharCode(((letter.charCodeAt(0) - 97 + 13) % 26) + 97));
}

/** From its end. */
export function reversedWord(word: string): string {
  return [...word].reverse().join('');
}

/** A word without accents, as `meaningsOf` has it. */
export function plainWord(word: string): string {
  return /\P{ASCII}/u.test(word) ? word.normalize('NFD').replace(/\p{M}/gu, '') : word;
}
