import type { Sign, SignKind } from './sign.js';

interface Mark {
  readonly kind: SignKind;
  readonly weight: number;
  readonly pattern: RegExp;
}

/**
 * Signs made of marks: what chat templates and tools' protocols write, which no ordinary text does. Each has literal beginnings and classes of
 * bounded length behind them, so all are linear.
 */
const marks: readonly Mark[] = [
  // Chat templates of open models (ChatML, Llama 2 and 3, Mistral, Gemma, Phi).
  {
    kind: 'role-marker',
    weight: 1,
    pattern: /<\|(?:im_start|im_end|system|user|assistant|start_header_id|end_header_id|eot_id|endoftext|begin_of_text)\|>/g,
  },
  { kind: 'role-marker', weight: 1, pattern: /<<\/?sys>>|\[\/?inst\]|<start_of_turn>|<end_of_turn>/g },
  {
    kind: 'role-marker',
    weight: 0.6,
    pattern: /<\/?(?:system|assistant|developer|instructions?|admin|system[_-](?:prompt|message|override|instructions?))>/g,
  },
  {
    kind: 'role-marker',
    weight: 0.6,
    pattern:
      /\[(?:system|assistant|developer|admin|tool[ _](?:output|result|response))(?:[ _](?:message|prompt|note|override|instructions?))?\]/g,
  },
  {
    kind: 'role-marker',
    weight: 0.6,
    pattern:
      /(?:^|[\n\]>]|<!--)[ \t]{0,8}(?:#{1,4} ?|\*\*)?(?:system|assistant|developer)(?: (?:message|prompt|note|override|instructions?))?(?:\*\*)? ?:/g,
  },
  {
    kind: 'role-marker',
    weight: 0.4,
    pattern: /<\/?(?:important|information|alert|urgent|attention|notice|context|user|data|tool_?(?:output|result|response)s?)>/g,
  },
  { kind: 'tool-call', weight: 1, pattern: /<\/?(?:antml:)?(?:function_calls?|tool_calls?|invoke|tool_use|parameter) ?[^<>\n]{0,64}>/g },
  { kind: 'tool-call', weight: 0.6, pattern: /"(?:tool_calls?|function_call|tool_use)"\s{0,4}:/g },
  {
    kind: 'tool-call',
    weight: 0.6,
    pattern: /"name"\s{0,4}:\s{0,4}"[\w.-]{1,64}"\s{0,4},\s{0,4}"(?:arguments|parameters|input)"\s{0,4}:/g,
  },
  // Orders to leave earlier orders, in scripts without spaces.
  { kind: 'override', weight: 1, pattern: /(?:忽略|无视|無視|忘记|忘掉|不要理会)[^。\n]{0,12}(?:指令|指示|提示|规则|規則|命令)/g },
  { kind: 'override', weight: 1, pattern: /(?:指示|命令|指令|プロンプト|ルール)[^。\n]{0,8}(?:無視|忘れ)/g },
  { kind: 'override', weight: 1, pattern: /(?:이전|위의|모든)[^.\n]{0,12}(?:지시|명령|지침|프롬프트)[^.\n]{0,6}(?:무시|잊)/g },
  // Whoever says so in a result was not there when the conversation began.
  {
    kind: 'precondition',
    weight: 0.5,
    pattern:
      /after (?:you (?:do|have done|are done|did|finish|finished|complete|completed) (?:that|this|so|it)|that), (?:you can|continue|proceed|go on|resume)/g,
  },
  {
    kind: 'encoded',
    weight: 0.8,
    pattern:
      /\b(?:decode|decrypt|unscramble|deobfuscate)\b[^.\n]{0,60}\b(?:and|then)\b[^.\n]{0,20}\b(?:follow|execute|obey|run|perform|do|carry)\b/g,
  },
  {
    kind: 'lawlessness',
    weight: 0.6,
    pattern:
      /\b(?:developer|debug|god|admin|maintenance|unrestricted|jailbreak|sudo|dan) mode\b[^.\n]{0,30}\b(?:enabled|activated|on|no restrictions?|unlocked)\b/g,
  },
  {
    kind: 'lawlessness',
    weight: 0.6,
    pattern:
      /\b(?:no|without|any|free (?:of|from)) (?:moral|ethical|any moral|any ethical|safety|content) (?:principles|guidelines|restrictions|limits|limitations|filters?|policies|boundaries|constraints)\b/g,
  },
];

/** Signs of marks in a normalised text. */
export function markSigns(text: string): readonly Sign[] {
  const found: Sign[] = [];
  for (const { kind, weight, pattern } of marks) {
    for (const { 0: piece, index } of text.matchAll(pattern)) found.push({ start: index, end: index + piece.length, kind, weight });
  }
  return found;
}
