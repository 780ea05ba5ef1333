/** What a finish reason says. `good` is a whole answer; everything else is not to be acted on. */
export type FinishKind = 'good' | 'length' | 'refusal' | 'error';

/** Names that hold a word of another kind. */
const exact: ReadonlyMap<string, FinishKind> = new Map([
  ['stop', 'good'],
  ['tool_calls', 'good'],
  ['function_call', 'good'],
  ['end_turn', 'good'],
  ['stop_sequence', 'good'],
]);

/**
 * What a server means by its finish reason. The API knows five; servers that imitate it pass on their own (`MAX_TOKENS`,
 * `model_context_window_exceeded`, `MALFORMED_FUNCTION_CALL`, `insufficient_system_resource`), which are told by the words in them.
 */
export function finishKind(reason: string): FinishKind {
  const word = reason.trim().toLowerCase();
  const known = exact.get(word);
  if (known !== undefined) return known;
  if (/length|(max|limit|budget).*token|token.*(max|limit|budget)|context|truncat/.test(word)) return 'length';
  if (/filter|safety|refus|block|recitation|prohibit|sensitive|spii|policy|guardrail/.test(word) && !/malformed/.test(word))
    return 'refusal';
  if (/error|abort|cancel|fail|time_?out|malformed|unexpected|insufficient|overload|interrupt|disconnect|incomplete/.test(word))
    return 'error';
  return 'good';
}

/** True where the reason says that the model has called something: `tool_calls`, `tool_use`, `function_call`, `TOOL_CALL`. */
export function tellsOfCalls(reason: string): boolean {
  return /tool|function/.test(reason.toLowerCase()) && finishKind(reason) === 'good';
}
